/* Makes the n-th call of a family of C functions fail; loaded with LD_PRELOAD.

   fault_arm(family, n, errno) lets n - 1 calls of the family through and fails the n-th.
   fault_disarm() stops and returns the number of calls of the family.
   fault_event(what, file, other) makes something else happen just before the n-th call, which then
   succeeds: the file is removed, other is renamed to it or copied into it, or SIGINT is sent to this
   process. A read may also find the end of the file, as all later reads then do (END), or return
   half of the bytes (HALF).
   fault_watch(folder) counts only calls on files in this folder.

   There are two families of allocations. LARGE: 128 KB and more, from any caller. Smaller ones fail
   only on a machine that is about to die, and NumPy itself then crashes (its iterator raises
   MemoryError without holding the interpreter's lock). KERNELS: any size, from the compiled
   kernels or from C++'s operator new.                                                          */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { NONE, LARGE, KERNELS, WRITE, SYNC, RENAME, THREAD, THREADS, READ };
enum { FAIL_IT, REMOVE, REPLACE, COPY, INTERRUPT, END, HALF };

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

static int event = FAIL_IT;
static char file_of_event[4096], other_of_event[4096], watched[4096];

void fault_event(int what, const char *file, const char *other) {
  event = what;
  snprintf(file_of_event, sizeof file_of_event, "%s", file);
  snprintf(other_of_event, sizeof other_of_event, "%s", other);
}

void fault_watch(const char *folder) { snprintf(watched, sizeof watched, "%s", folder); }

/* Uses system calls directly, because the library functions would be counted. */
static void copy(const char *from, const char *to) {
  char bytes[1 << 16];
  int in = syscall(SYS_openat, AT_FDCWD, from, O_RDONLY);
  int out = syscall(SYS_openat, AT_FDCWD, to, O_WRONLY);
  long got, size = 0;
  while ((got = syscall(SYS_read, in, bytes, sizeof bytes)) > 0)
    size += syscall(SYS_write, out, bytes, got);
  if (ftruncate(out, size)) abort();
  close(in);
  close(out);
}

static int happens(void) {
  if (event == REMOVE) unlink(file_of_event);
  if (event == REPLACE) syscall(SYS_renameat2, AT_FDCWD, other_of_event, AT_FDCWD, file_of_event, 0);
  if (event == COPY) copy(other_of_event, file_of_event);
  if (event == INTERRUPT) kill(getpid(), SIGINT);
  return event == FAIL_IT || event == END || event == HALF;
}

static int fails(int which) {
  if (atomic_load_explicit(&family, memory_order_relaxed) != which) return 0;
  atomic_fetch_add(&seen, 1);
  long n = atomic_fetch_sub(&left, 1);
  return (n == 1 || (n < 1 && (which == THREADS || event == END))) && happens();
}

/* Whether an open file is in the watched folder. */
static int is_watched(int file) {
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t size = readlink(link, path, sizeof path - 1);
  path[size < 0 ? 0 : size] = 0;
  return !strncmp(path, watched, strlen(watched));
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
#define FAIL_READ(file, half)                                                                \
  if (atomic_load_explicit(&family, memory_order_relaxed) == READ && is_watched(file) &&     \
      fails(READ)) {                                                                         \
    if (event == END) return 0;                                                              \
    if (event == HALF) return half;                                                          \
    errno = atomic_load(&code);                                                              \
    return -1;                                                                               \
  }

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

ssize_t read(int file, void *to, size_t size) {
  static __typeof__(&read) real;
  if (!real) real = REAL(read);
  FAIL_READ(file, real(file, to, (size + 1) / 2))
  return real(file, to, size);
}
ssize_t pread(int file, void *to, size_t size, off_t at) {
  static __typeof__(&pread) real;
  if (!real) real = REAL(pread);
  FAIL_READ(file, real(file, to, (size + 1) / 2, at))
  return real(file, to, size, at);
}
ssize_t pread64(int file, void *to, size_t size, off64_t at) {
  static __typeof__(&pread64) real;
  if (!real) real = REAL(pread64);
  FAIL_READ(file, real(file, to, (size + 1) / 2, at))
  return real(file, to, size, at);
}
ssize_t preadv(int file, const struct iovec *to, int count, off_t at) {
  static __typeof__(&preadv) real;
  if (!real) real = REAL(preadv);
  FAIL_READ(file, pread64(file, to->iov_base, (to->iov_len + 1) / 2, at))
  return real(file, to, count, at);
}
ssize_t preadv64(int file, const struct iovec *to, int count, off64_t at) {
  static __typeof__(&preadv64) real;
  if (!real) real = REAL(preadv64);
  FAIL_READ(file, pread64(file, to->iov_base, (to->iov_len + 1) / 2, at))
  return real(file, to, count, at);
}
ssize_t preadv2(int file, const struct iovec *to, int count, off_t at, int flags) {
  static __typeof__(&preadv2) real;
  if (!real) real = REAL(preadv2);
  FAIL_READ(file, pread64(file, to->iov_base, (to->iov_len + 1) / 2, at))
  return real(file, to, count, at, flags);
}
ssize_t preadv64v2(int file, const struct iovec *to, int count, off64_t at, int flags) {
  static __typeof__(&preadv64v2) real;
  if (!real) real = REAL(preadv64v2);
  FAIL_READ(file, pread64(file, to->iov_base, (to->iov_len + 1) / 2, at))
  return real(file, to, count, at, flags);
}

/* ---- threads -------------------------------------------------------------------------------- */
int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg) {
  static __typeof__(&pthread_create) real;
  if (!real) real = REAL(pthread_create);
  if (fails(THREAD) || fails(THREADS)) return EAGAIN;
  return real(thread, attr, start, arg);
}
