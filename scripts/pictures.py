"""What the scripts that draw pictures of the documentation share."""
import sys


def keep(pictures):
    """Writes pictures, given as texts by their paths. With the argument --check it compares them with the files instead, and
    fails if one differs."""
    script = "scripts/" + sys.argv[0].rsplit("/", 1)[-1]
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(f"usage: {script} [--check]")
    for path, drawn in pictures().items():
        if not sys.argv[1:]:
            with open(path, "w", encoding="utf-8") as file:
                file.write(drawn)
            continue
        with open(path, encoding="utf-8") as file:
            if file.read() != drawn:
                sys.exit(f"{path} is not what {script} draws from the sources; draw it again: {script}")
