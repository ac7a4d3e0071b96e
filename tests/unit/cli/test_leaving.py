"""The process leaves at once when a verb is done, and forgets nothing on the way."""

from __future__ import annotations

import subprocess
import sys

import pytest

TOLD = "import atexit; atexit.register(lambda: print('told of the end'))"
TAKEN_APART = "kept = type('Kept', (), {'__del__': lambda self: print('taken apart')})()"
THREAD = (
    "import threading, time; threading.Thread(target=lambda: (time.sleep(.3), print('thread done'))).start()"
)


def leave(folder, before, *arguments):
    """Run a command in a program that did something else before."""
    program = f"{before}\nfrom sfumato.cli import main\nmain()"
    return subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, cwd=folder
    )


@pytest.mark.parametrize(
    ("arguments", "code"), [(("--version",), 0), (("show", "nothing"), 1), (("--no",), 2)]
)
def test_the_exit_code_and_what_was_said_are_kept(folder, arguments, code):
    """Leaving at once flushes first: what was printed arrives in a pipe too."""
    done = leave(folder, "pass", *arguments)
    assert done.returncode == code
    assert (done.stdout if code == 0 else done.stderr).endswith("\n")


def test_whatever_asked_to_be_told_of_the_end_is_told(folder):
    """Temporary folders are removed there."""
    assert leave(folder, TOLD, "--version").stdout.splitlines()[1:] == ["told of the end"]


def test_objects_are_not_taken_apart_one_by_one(folder):
    """That is what takes long; the same program without us does it."""
    assert "taken apart" not in leave(folder, TAKEN_APART, "--version").stdout
    alone = subprocess.run([sys.executable, "-c", TAKEN_APART], capture_output=True, text=True, check=True)
    assert alone.stdout == "taken apart\n"


def test_a_thread_that_still_works_is_waited_for(folder):
    """As the interpreter does by itself."""
    assert leave(folder, THREAD, "--version").stdout.splitlines()[1:] == ["thread done"]
