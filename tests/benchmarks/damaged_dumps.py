"""Indexes damaged dumps of a forum over the complete threads, and checks that no stored text is lost.

The threads of quantumcomputing are written as a dump of Stack Exchange (Posts.xml), as a mailbox, and as JSON lines,
plain and compressed. Each is cut at random places, or has a byte replaced, and is indexed twice over a collection of
the complete ones. A text is lost if no stored post is like it any more; a run whose file was not read to its end must
say so, and end with 1.
"""

import gzip
import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from moverank import Collection
from tests.benchmarks.common import any_missed, argument_parser, gzip_records, real, show, show_table, verdict

HEADS = ("dump", "damage", "samples", "lost", "not read to the end", "of these, exit code 1", "")
_ALIKE = 0.8
"""The similarity of a text with a changed byte to the stored one: a byte can end a post's paragraph."""


def posts_xml(threads: Sequence[Mapping[str, Any]]) -> bytes:
    """Return threads as the posts of a dump of Stack Exchange."""
    rows, number = list[str](), 100_000
    for thread in threads:
        head = f'Id="{thread["id"]}" PostTypeId="1" Title="{escape(thread["title"])}"'
        rows.append(f'  <row {head} Body="{_attribute(thread["body"])}" />')
        for comment in thread["comments"]:
            number += 1
            rows.append(
                f'  <row Id="{number}" PostTypeId="2" ParentId="{thread["id"]}" Body="{_attribute(comment["text"])}" />'
            )
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', "<posts>", *rows, "</posts>", ""]).encode()


def _attribute(text: str) -> str:
    return escape(f"<p>{escape(text)}</p>").replace("\n", "&#xA;")


def mailbox(threads: Sequence[Mapping[str, Any]]) -> bytes:
    """Return threads as messages of a mailing list."""
    messages = []
    for thread in threads:
        for number, text in enumerate([thread["body"], *(one["text"] for one in thread["comments"])]):
            own, reply = f"<{thread['id']}.{number}@list.example>", f"In-Reply-To: <{thread['id']}.0@list.example>\n"
            title = " ".join(thread["title"].split()).encode("ascii", "replace").decode()
            head = f"From list Mon Jan  1 00:00:00 2024\nMessage-ID: {own}\n{reply if number else ''}"
            head += f"Subject: {'Re: ' if number else ''}{title}\nContent-Type: text/plain; charset=utf-8\n\n"
            messages.append(head + text.replace("\nFrom ", "\n>From ") + "\n\n")
    return "".join(messages).encode()


def json_lines(threads: Sequence[Mapping[str, Any]]) -> bytes:
    """Return threads as JSON lines."""
    return "".join(json.dumps(thread, ensure_ascii=False) + "\n" for thread in threads).encode()


DUMPS: dict[str, Callable[[Sequence[Mapping[str, Any]]], bytes]] = {
    "Posts.xml": posts_xml,
    "list.mbox": mailbox,
    "threads.jsonl": json_lines,
}


def damaged(data: bytes, kind: str, rng: random.Random) -> bytes:
    """Return the bytes of a file, cut at a random place, or with a random byte replaced."""
    place = rng.randrange(len(data) // 50, len(data))
    return data[:place] if kind == "cut" else data[:place] + bytes([rng.randrange(256)]) + data[place + 1 :]


def texts(index: Path) -> Counter[str]:
    """Return the texts of all posts that are stored."""
    with Collection.open(index) as collection:
        return Counter(" ".join(part.text.split()) for one in collection.documents() for part in one.parts)


def run(file: Path, index: Path) -> subprocess.CompletedProcess[str]:
    """Index threads by the command line."""
    command = [sys.executable, "-m", "moverank", "threads", str(file), "-i", str(index), "--json"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def lost(before: Counter[str], after: Counter[str]) -> list[str]:
    """Return the texts of which no stored post is like them any more."""
    gone, new = before - after, list((after - before).elements())
    return [text for text in gone.elements() if not any(_alike(text, other) for other in new)]


def _alike(one: str, other: str) -> bool:
    return SequenceMatcher(None, one, other, autojunk=False).quick_ratio() >= _ALIKE


def main() -> bool:
    """Print a row for each dump and kind of damage; return 1 if a text was lost, or an early end was not an error."""
    parser = argument_parser(__doc__)
    parser.add_argument("--cuts", type=int, default=20)
    parser.add_argument("--bytes", type=int, default=50)
    parser.add_argument("--threads", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    source = real("data", "stackexchange_quantumcomputing") / "threads.jsonl.gz"
    threads, rows = list(gzip_records(source))[: options.threads], []
    with TemporaryDirectory() as directory:
        folder = Path(directory)
        for name, write in DUMPS.items():
            for packed in (False, True):
                rows += _of_dump(folder, f"{name}.gz" if packed else name, write(threads), packed, options)
    show_table(HEADS, rows)
    return any_missed(rows)


def _of_dump(folder: Path, name: str, data: bytes, packed: bool, options: Any) -> list[list[str]]:
    """Return the rows of a dump."""
    file, complete, rng = folder / name, folder / f"{name}.complete", random.Random(options.seed)  # noqa: S311
    whole = gzip.compress(data, mtime=0) if packed else data
    file.write_bytes(whole)
    first = run(file, complete)
    if first.returncode:
        sys.exit(f"{name}: {first.stderr}")
    before, rows = texts(complete), []
    for kind, samples in (("cut", options.cuts), ("byte", options.bytes)):
        losses = early = said = 0
        for _ in range(samples):
            index = Path(shutil.copytree(complete, folder / "damaged"))
            file.write_bytes(damaged(whole, kind, rng))
            for _ in range(2):
                done = run(file, index)
                changes = json.loads(done.stdout) if done.stdout.strip() else {}
                ended = not changes or changes["unread"] > 0 or changes["kept"] > 0
                early, said = early + ended, said + (ended and done.returncode == 1)
                if "Traceback" in done.stderr:
                    sys.exit(f"{name}: {done.stderr}")
            missing = lost(before, texts(index))
            losses += len(missing)
            for text in missing:
                show(f"{name}, {kind}: lost: {text[:100]!r}: {done.stderr[-300:]}")
            shutil.rmtree(index)
        row = [name, kind, samples, losses, early, said]
        rows.append([*map(str, row), verdict(not losses and said == early)])
    return rows


if __name__ == "__main__":
    sys.exit(main())
