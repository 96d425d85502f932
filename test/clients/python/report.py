"""Runs the steps of a client and prints a line for each: `ok NAME` or `FAIL NAME: why`."""
import sys
import traceback


class Report:
    def __init__(self):
        self.failed = False

    def step(self, name, run, want=None):
        try:
            got = run()
            if want is not None and got != want:
                raise AssertionError(f"got {got!r}, want {want!r}")
            print(f"ok {name}", flush=True)
            return got
        except Exception as e:  # the next steps may still say something
            self.failed = True
            where = traceback.extract_tb(e.__traceback__)[-1]
            print(f"FAIL {name}: {type(e).__name__}: {e} ({where.name}:{where.lineno})".replace("\n", " "), flush=True)
            return None

    def refused(self, name, run, kind, text):
        def check():
            try:
                run()
            except kind as e:
                if text in str(e):
                    return
                raise AssertionError(f"the error is {e!r}, want in it {text!r}")
            raise AssertionError("there was no error")
        self.step(name, check)

    def exit(self):
        sys.exit(1 if self.failed else 0)
