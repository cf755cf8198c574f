"""A drawing is the same octets whatever ids the plotting library made for it."""

from xml.etree import ElementTree

from bmwg.reports.render.plots import drawing


def inlined(first: str, second: str) -> str:
    parts = "".join(
        f'<clipPath id="{one}"><rect/></clipPath><g clip-path="url(#{one})" id="unused"/>'
        for one in (first, second)
    )
    svg = f'<svg viewBox="0 0 9 9"><defs><g id="m{first}"/></defs>{parts}<use xlink:href="#m{first}"/></svg>'
    return drawing._inline(svg, "http-start", "A title", "What it shows")


def test_a_file_of_its_own_has_a_ground_and_says_what_its_page_does() -> None:
    svg = inlined("p0b62", "p5c6b")
    plot = drawing.Plot(name="http-start", title="A title", description="What it shows", svg=svg)
    plain = drawing.alone(plot)
    assert 'viewBox="0 0 9 9"' in plain
    assert 'style="background: #ffffff"' in plain
    said = drawing.alone(plot, "Simulated: no <frame>")
    assert 'viewBox="0 0 9 25"' in said  # below the drawing
    assert said.endswith(">Simulated: no &lt;frame&gt;</text></svg>\n")
    assert ElementTree.fromstring(said).tag.endswith("svg")


def test_ids_are_told_by_their_turn_and_stay_apart() -> None:
    assert inlined("p0b62", "p5c6b") == inlined("p5c6b", "p01ff")
    drawn = inlined("p0b62", "p5c6b")
    for number in (1, 2):
        assert f'id="http-start-{number}"' in drawn
        assert f'clip-path="url(#http-start-{number})"' in drawn
    assert 'xlink:href="#http-start-3"' in drawn
    assert "unused" not in drawn
