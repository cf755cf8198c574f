"""A drawing is the same octets whatever ids the plotting library made for it."""

from bmwg.reports.render.plots import drawing


def inlined(first: str, second: str) -> str:
    parts = "".join(
        f'<clipPath id="{one}"><rect/></clipPath><g clip-path="url(#{one})" id="unused"/>'
        for one in (first, second)
    )
    svg = f'<svg viewBox="0 0 9 9"><defs><g id="m{first}"/></defs>{parts}<use xlink:href="#m{first}"/></svg>'
    return drawing._inline(svg, "http-start", "A title", "What it shows")


def test_ids_are_told_by_their_turn_and_stay_apart() -> None:
    assert inlined("p0b62", "p5c6b") == inlined("p5c6b", "p01ff")
    drawn = inlined("p0b62", "p5c6b")
    for number in (1, 2):
        assert f'id="http-start-{number}"' in drawn
        assert f'clip-path="url(#http-start-{number})"' in drawn
    assert 'xlink:href="#http-start-3"' in drawn
    assert "unused" not in drawn
