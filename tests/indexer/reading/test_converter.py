"""Commands of `--pre`: real ones, and small scripts for their failures."""

import gzip
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest

from moverank.indexer.errors import UsageError
from moverank.indexer.reading import converter, read_documents
from moverank.indexer.reading.converter import Conversion
from moverank.indexer.values.documents import Part
from tests.indexer.reading.conftest import Read, Write

PDF = b"%PDF-1.4\n\0binary"


@pytest.fixture
def script(tmp_path: Path) -> Callable[[str], str]:
    """Returns a command which runs a shell script with the path as $1."""

    def command(text: str) -> str:
        path = tmp_path / "script.sh"
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
        return str(path)

    return command


def test_files_that_are_no_text_are_converted(write: Write, documents: Read, script: Callable[[str], str]) -> None:
    write("d/a.pdf", PDF)
    write("d/b.txt", "plain")
    write("d/c.py", "code")
    write("d/e.latin", b"caf\xe9 ")
    found, rejected = documents("d", conversion=Conversion(script('echo "Converted $1"; echo "more"')))
    assert rejected == []
    assert [(each.key, each.title, each.parts[0].text) for each in found] == [
        ("d/a.pdf", "Converted d/a.pdf", "Converted d/a.pdf\nmore\n"),
        ("d/b.txt", "plain", "plain"),
        ("d/c.py", "code", "code"),
        ("d/e.latin", "Converted d/e.latin", "Converted d/e.latin\nmore\n"),
    ]


@pytest.mark.parametrize("globs", [("*.txt",), ("b.*", "!b.pdf"), ("/d/",)])
def test_globs_choose_the_files(
    write: Write, documents: Read, script: Callable[[str], str], globs: tuple[str, ...]
) -> None:
    write("d/b.txt", "plain")
    write("e/b.pdf", PDF)
    found, rejected = documents("d", "e", conversion=Conversion(script("echo converted"), globs))
    assert [(each.key, each.title) for each in found] == [("d/b.txt", "converted")]
    assert [each.source for each in rejected] == ["e/b.pdf"]


@pytest.mark.parametrize(
    ("command", "path"),
    [("cat {}", "a b;$(x).bin"), ("cat", "-n.bin"), ("sh -c 'cat \"$1\"' sh {}", "'q\"{}.bin"), ("cat -- {}", "a.bin")],
)
def test_the_path_is_one_argument_and_never_code(write: Write, documents: Read, command: str, path: str) -> None:
    write(path, b'\xff{"id"')
    _, (rejection,) = documents(path, conversion=Conversion(command))
    assert "byte 1 of the file, in line 1, is not UTF-8" in rejection.reason  # cat printed the file itself


def test_the_format_of_the_output_is_detected(write: Write, documents: Read) -> None:
    zcat = shutil.which("zcat")
    assert zcat
    for name, text in (
        ("a.bin", '{"id": 1, "text": "x"}\n'),
        ("a.html", "<html><title>t</title>x"),
        ("x", "a\tb\n" * 3),
    ):
        expected = documents(write("plain", text), format="text" if name == "x" else None)
        found = documents(write(name, gzip.compress(text.encode())), conversion=Conversion(f"{zcat} -f", ("*",)))
        assert [(each.title, each.parts) for each in found[0]] == [(each.title, each.parts) for each in expected[0]]


def test_pdftotext(write: Write, documents: Read) -> None:
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    stream = b"BT /F1 24 Tf 72 720 Td (Hot plugs) Tj ET"
    objects = [
        b"<</Type/Catalog/Pages 2 0 R>>",
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        b"<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>/MediaBox[0 0 612 792]>>",
        b"<</Length %d>>stream\n%s\nendstream" % (len(stream), stream),
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ]
    body = b"".join(b"%d 0 obj%s endobj\n" % (number, content) for number, content in enumerate(objects, start=1))
    write("a.pdf", b"%PDF-1.4\n" + body + b"trailer<</Root 1 0 R/Size 6>>")
    ((document,), _) = documents("a.pdf", conversion=Conversion("pdftotext {} -"))
    assert document.title == "Hot plugs"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("echo x; echo >&2; echo 'no font' >&2; echo more >&2; exit 3", "script.sh failed with exit code 3: no font"),
        ("exit 1", "script.sh failed with exit code 1: it gave no reason"),
        ("kill -SEGV $$", "script.sh failed with SIGSEGV: it gave no reason"),
        ("true", "there is no text"),
        ("printf 'caf\\351'", "byte 4 of the file, in line 1, is not UTF-8"),
        ("printf 'a\\000b'", "it holds NUL bytes"),
    ],
)
def test_a_failing_command_rejects_the_file_only(
    write: Write, documents: Read, script: Callable[[str], str], text: str, reason: str
) -> None:
    write("a.pdf", PDF)
    write("b.txt", "plain")
    found, (rejection,) = documents("a.pdf", "b.txt", conversion=Conversion(script(text)))
    assert [each.key for each in found] == ["b.txt"]
    assert rejection.source == "a.pdf"
    assert reason in rejection.reason


def test_a_command_that_takes_too_long_is_stopped_with_its_children(
    write: Write, documents: Read, script: Callable[[str], str]
) -> None:
    write("a.pdf", PDF)
    command = script("sleep 300 & echo $! > pid; wait")
    _, (rejection,) = documents("a.pdf", conversion=Conversion(command, seconds=0.5))
    assert rejection.reason.endswith("took more than 0.5 seconds and was stopped: --pre-timeout allows more")
    _wait_for_end(int(Path("pid").read_text()))


def _wait_for_end(pid: int) -> None:
    status = Path(f"/proc/{pid}/stat")
    # A killed process whose parent has not noticed yet is a zombie.
    while status.exists() and status.read_text().split()[2] != "Z":
        sleep(0.01)


@pytest.mark.parametrize("file", ["stdout", "stderr"])
def test_endless_output_is_stopped(write: Write, documents: Read, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    monkeypatch.setattr(converter, "OUTPUT_LIMIT", 1 << 20)
    write("a.pdf", PDF)
    endless = f"import sys\nwhile True: print('x' * 9999, file=sys.{file})"
    Path("endless.py").write_text(endless)
    _, (rejection,) = documents("a.pdf", conversion=Conversion(f"{sys.executable} endless.py"))
    assert "writes more than 1,048,576 bytes: leave the file out" in rejection.reason


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "--pre is empty"),
        ("cat '", "a quotation mark is not closed"),
        ("no-such-command {}", "--pre: there is no command 'no-such-command'"),
        ("sh -c 'cat {}'", r"\{\} must be an argument of its own; in a script it is"),
    ],
)
def test_commands_that_cannot_be_run_are_usage_errors(write: Write, command: str, message: str) -> None:
    write("a.pdf", PDF)
    with pytest.raises(UsageError, match=message):
        read_documents(["a.pdf"], conversion=Conversion(command))


def test_standard_input_is_not_converted(documents: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"one\ntwo\n")))
    found, _ = documents("-", conversion=Conversion("false", ("*",)))
    assert [each.parts for each in found] == [(Part("one"),), (Part("two"),)]
