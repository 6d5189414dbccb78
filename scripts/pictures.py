"""What the scripts that write pictures and pages of the documentation share."""
import os
import shutil
import sys


def write(path, text):
    """Writes a file whole, or leaves it as it was."""
    path = os.path.realpath(path)
    new = path + ".new"
    try:
        with open(new, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            shutil.copymode(path, new)
        os.replace(new, path)
    except OSError as error:
        if os.path.exists(new):
            os.unlink(new)
        sys.exit(f"{path}: can't be written: {error}")


def read(path):
    """The text of a file, with the ends of lines that it has."""
    try:
        with open(path, encoding="utf-8", newline="") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        sys.exit(f"{path}: can't be read: {error}")


def keep(pictures):
    """Writes pictures and pages, given as texts by their paths. With the argument --check it compares them with the files
    instead, and fails if one differs."""
    script = "scripts/" + sys.argv[0].rsplit("/", 1)[-1]
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(f"usage: {script} [--check]")
    for path, drawn in pictures().items():
        if not sys.argv[1:]:
            write(path, drawn)
        elif read(path) != drawn:
            sys.exit(f"{path} is not what {script} draws from the sources; draw it again: {script}")
