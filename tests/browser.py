"""A real browser for tests: Chromium from Debian, offline, with a fresh profile."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"),
    *("--disable-quic", "--disable-component-update", "--disable-sync"),
]


@contextmanager
def launch_browser() -> Iterator[Any]:
    """A browser; the test is skipped where there is none."""
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip("no Chromium: apt-get install chromium")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: make test-browser"
    )
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=FLAGS)
        yield browser
        browser.close()


@contextmanager
def open_page(browser: Any, path: Any, **options: Any) -> Iterator[Any]:
    """A page in a new context; console errors, dialogs and requests fail the test."""
    problems: list[str] = []
    context = browser.new_context(offline=True, **options)
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.on("console", lambda message: message.type == "error" and problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(f"error: {error}"))
    page.on(
        "dialog", lambda dialog: (problems.append(f"dialog: {dialog.message}"), dialog.accept())
    )

    def intercept(route: Any) -> None:
        url = route.request.url
        if url.startswith("file:"):
            route.continue_()
        else:
            problems.append(f"request: {url[:80]}")
            route.abort()

    page.route("**/*", intercept)
    page.goto(path.as_uri())
    try:
        yield page
    finally:
        context.close()
    assert problems == []
