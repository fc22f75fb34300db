"""The generated pages are what the code says."""

from pathlib import Path

from tools.make_reference import PAGE, reference

from cloudarena.reproduce import NAMES

ROOT = Path(__file__).parent.parent


def test_the_reference_is_made_by_the_script():
    assert PAGE.read_text() == reference(), "run python tools/make_reference.py"


def test_the_page_of_published_tables_has_every_entry():
    text = (ROOT / "docs" / "reproduce.md").read_text()
    assert [name for name in NAMES if f"\n## {name}\n" not in text] == []
    assert "Not run:" not in text


def test_every_page_is_in_the_navigation():
    nav = (ROOT / "mkdocs.yml").read_text()
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    assert [str(page) for page in pages if str(page) not in nav] == []
