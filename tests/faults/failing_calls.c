/* Makes the n-th call of a family of C functions fail; loaded with LD_PRELOAD.

   fault_arm(family, n, errno) lets n - 1 calls of the family through and fails the n-th.
   fault_disarm() stops and returns how many calls of the family were seen.

   Allocations are of two families. LARGE: 128 KB and more, from anywhere. Smaller ones fail in
   a machine that is about to die only, and NumPy itself crashes there (its iterator raises
   MemoryError without holding the interpreter's lock). KERNELS: any size, from the compiled
   kernels or from C++'s operator new.                                                          */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

enum { NONE, LARGE, KERNELS, WRITE, SYNC, RENAME, THREAD };

static atomic_int family = NONE;
static atomic_long left = 0, seen = 0;
static atomic_int code = ENOSPC;

void fault_arm(int which, long n, int error) {
  atomic_store(&left, n);
  atomic_store(&seen, 0);
  atomic_store(&code, error);
  atomic_store(&family, which);
}

long fault_disarm(void) {
  atomic_store(&family, NONE);
  return atomic_load(&seen);
}

static int fails(int which) {
  if (atomic_load_explicit(&family, memory_order_relaxed) != which) return 0;
  atomic_fetch_add(&seen, 1);
  return atomic_fetch_sub(&left, 1) == 1;
}

/* ---- memory: glibc's own functions, since dlsym itself allocates -------------------------- */
extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);

static int refused(size_t size, void *caller) {
  int which = atomic_load_explicit(&family, memory_order_relaxed);
  if (which == LARGE) return size >= (1 << 17) && fails(LARGE);
  if (which != KERNELS) return 0;
  Dl_info from;
  if (!dladdr(caller, &from) || !from.dli_fname) return 0;
  if (!strstr(from.dli_fname, "/kernels/") && !strstr(from.dli_fname, "libstdc++")) return 0;
  return fails(KERNELS);
}

#define REFUSE(size)                                     \
  if (refused(size, __builtin_return_address(0))) {      \
    errno = ENOMEM;                                      \
    return NULL;                                         \
  }

void *malloc(size_t size) {
  REFUSE(size)
  return __libc_malloc(size);
}
void *calloc(size_t n, size_t size) {
  REFUSE(n * size)
  return __libc_calloc(n, size);
}
void *realloc(void *old, size_t size) {
  REFUSE(size)
  return __libc_realloc(old, size);
}
void *aligned_alloc(size_t alignment, size_t size) {
  REFUSE(size)
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **out, size_t alignment, size_t size) {
  if (refused(size, __builtin_return_address(0))) return ENOMEM;
  *out = __libc_memalign(alignment, size);
  return *out ? 0 : ENOMEM;
}

/* ---- files ---------------------------------------------------------------------------------- */
#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define FAIL(which) if (fails(which)) { errno = atomic_load(&code); return -1; }

ssize_t write(int file, const void *from, size_t size) {
  static __typeof__(&write) real;
  if (!real) real = REAL(write);
  if (file > 2) FAIL(WRITE)
  return real(file, from, size);
}
ssize_t pwrite64(int file, const void *from, size_t size, off64_t at) {
  static __typeof__(&pwrite64) real;
  if (!real) real = REAL(pwrite64);
  FAIL(WRITE)
  return real(file, from, size, at);
}
int fsync(int file) {
  static __typeof__(&fsync) real;
  if (!real) real = REAL(fsync);
  FAIL(SYNC)
  return real(file);
}
int fdatasync(int file) {
  static __typeof__(&fdatasync) real;
  if (!real) real = REAL(fdatasync);
  FAIL(SYNC)
  return real(file);
}
int rename(const char *from, const char *to) {
  static __typeof__(&rename) real;
  if (!real) real = REAL(rename);
  FAIL(RENAME)
  return real(from, to);
}
int renameat(int a, const char *from, int b, const char *to) {
  static __typeof__(&renameat) real;
  if (!real) real = REAL(renameat);
  FAIL(RENAME)
  return real(a, from, b, to);
}
int link(const char *from, const char *to) {
  static __typeof__(&link) real;
  if (!real) real = REAL(link);
  FAIL(RENAME)
  return real(from, to);
}

/* ---- threads -------------------------------------------------------------------------------- */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
  static __typeof__(&pthread_create) real;
  if (!real) real = REAL(pthread_create);
  if (fails(THREAD)) return EAGAIN;
  return real(thread, attr, start, arg);
}
