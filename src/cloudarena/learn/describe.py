"""The page of the environments: what is shown of each decision, from the declarations."""

from __future__ import annotations

import re

from cloudarena.scenarios import kinds

BEGIN = "<!-- features of {decides}: made by cloudarena.learn.describe -->"
END = "<!-- end -->"


def with_features(page: str) -> str:
    """A page of documentation with the tables of features as they are declared now.

    A table stands between two comments: ``BEGIN``, which names what is decided, and ``END``.
    """
    known = {name: one for kind in kinds().values() for name, one in kind.candidates.items()}

    def table(found: re.Match[str]) -> str:
        one = known[found["decides"]]
        begin = BEGIN.format(decides=one.decides)
        head = f"Version {one.version}, at most {one.most} candidates unless `most` says otherwise."
        return f"{begin}\n{head} {chosen(one.fill)}\n\n{one.table()}\n{END}"

    begin = re.escape(BEGIN).replace(r"\{decides\}", "(?P<decides>[a-z-]+)")
    return re.sub(f"{begin}.*?{re.escape(END)}", table, page, flags=re.DOTALL)


def chosen(fill: object) -> str:
    """Which candidates there are: the docstring of ``fill`` as one paragraph."""
    return " ".join((fill.__doc__ or "").split())
