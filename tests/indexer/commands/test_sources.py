"""Sources of documents: what `--prune` removes, whose keys are protected, how a source is named, moved and listed."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moverank import Collection, Settings
from tests.indexer.commands.program import Answer, Call
from tests.indexer.stored_state import stored_keys

TEXTS = ["cat dog", "bird fish", "train bus", "car plane", "apple bread", "cheese wine"]

Run = Callable[..., Answer]


@pytest.fixture
def run(call: Call, tmp_path: Path, vectors: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs commands on the collection `c` from the directory of the test."""
    monkeypatch.chdir(tmp_path)
    Collection.create("c", Settings(embedding=str(vectors))).close()
    return lambda *arguments, stdin=b"": call(*arguments, "-i", tmp_path / "c", stdin=stdin)


def keys() -> set[str]:
    with Collection.open("c") as collection:
        return stored_keys(collection)


def sources(run: Run) -> dict[str | None, int]:
    """Return the numbers of documents by source, those below the working directory relative to it."""
    listed = run("info", "--source", "--json").json["sources"]
    return {each["source"] and each["source"].removeprefix(f"{Path.cwd()}/"): each["documents"] for each in listed}


def changes(answer: Answer) -> dict[str, int]:
    """Return the changes which are not zero, without the revision."""
    names = ("added", "updated", "removed", "unchanged", "rejected", "kept")
    return {name: answer.json[name] for name in names if answer.json[name]}


def write(path: str, text: str) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def records(*texts: str, first: int = 0) -> str:
    """Return JSON Lines with ids that count from `first`."""
    return "".join(json.dumps({"id": str(i), "text": text}) + "\n" for i, text in enumerate(texts, start=first))


def table(*texts: str) -> str:
    return "id,text\n" + "".join(f"{i},{text}\n" for i, text in enumerate(texts))


def mbox(*texts: str) -> str:
    message = "From a Mon Jan  1 00:00:00 2024\nMessage-ID: <{}>\nSubject: {}\n\n{}\n\n"
    return "".join(message.format(i, text, text) for i, text in enumerate(texts))


def posts(*texts: str) -> str:
    row = '<row Id="{}" PostTypeId="1" Title="{}" Body="{}"/>\n'
    return f"<posts>\n{''.join(row.format(i, text, text) for i, text in enumerate(texts))}</posts>\n"


def threads(*texts: str) -> str:
    return "".join(json.dumps({"id": str(i), "title": text}) + "\n" for i, text in enumerate(texts))


KINDS: list[tuple[str, str, Callable[..., str]]] = [
    ("index", "a.jsonl", records),
    ("index", "a.csv", table),
    ("index", "a.mbox", mbox),
    ("index", "a.txt", lambda *texts: "".join(f"label{i}\t{text}\n" for i, text in enumerate(texts))),
    ("threads", "a.jsonl", threads),
    ("threads", "a.mbox", mbox),
    ("threads", "Posts.xml", posts),
]


@pytest.mark.parametrize(("command", "name", "content"), KINDS)
def test_every_format_is_pruned_by_itself(run: Run, command: str, name: str, content: Callable[..., str]) -> None:
    write("other/n.txt", TEXTS[5])
    run("index", "other")
    write(f"forum/{name}", content(*TEXTS[:5]))
    assert changes(run(command, f"forum/{name}", "--json")) == {"added": 5}
    before = keys()
    if name != "a.txt":  # lines with labels are recognised only in a file that is named
        assert changes(run(command, "forum", "--json")) == {"unchanged": 5}
    write(f"forum/{name}", content(*TEXTS[:3]))
    assert changes(run(command, f"forum/{name}", "--prune", "--json")) == {"removed": 2, "unchanged": 3}
    assert (len(keys()), keys() < before) == (4, True)


def folder() -> None:
    for i, text in enumerate(TEXTS[:3]):
        write(f"notes/{i}.txt", text)
        write(f"notes/sub/{i}.txt", text)


@pytest.mark.parametrize(
    ("place", "spelled", "unchanged"),
    [
        (".", "./notes/", 6),
        (".", "{here}/notes", 6),
        (".", "link", 6),
        (".", "notes/*", 6),
        (".", "notes/**/*.txt", 6),
        (".", "notes/sub/../sub", 3),
        ("notes", ".", 6),
        ("notes/sub", "..", 6),
        ("notes", "sub/1.txt", 1),
        ("notes/sub", ".", 3),
    ],
)
def test_a_folder_is_one_source_however_it_is_spelled(
    run: Run, monkeypatch: pytest.MonkeyPatch, place: str, spelled: str, unchanged: int
) -> None:
    folder()
    Path("link").symlink_to("notes")
    assert changes(run("index", "notes", "--json")) == {"added": 6}
    assert sources(run) == {"notes": 6}
    spelled = spelled.format(here=Path.cwd())
    with monkeypatch.context() as patch:
        patch.chdir(place)
        assert changes(run("index", spelled, "--prune", "--json")) == {"unchanged": unchanged}
        write("sub/new.txt" if place == "notes" else "new.txt", TEXTS[4])
        run("index", spelled)
    assert sources(run)["notes"] >= 6
    assert not any(key.startswith((".", "/")) for key in keys())


def test_a_part_of_a_source_is_pruned_alone(run: Run) -> None:
    folder()
    run("index", "notes")
    Path("notes/0.txt").unlink()
    Path("notes/sub/0.txt").unlink()
    assert changes(run("index", "notes/sub", "--prune", "--json")) == {"removed": 1, "unchanged": 2}
    assert "notes/0.txt" in keys()
    write("notes/a.md", TEXTS[4])
    run("index", "notes")
    assert changes(run("index", "notes/*.txt", "--prune", "--json")) == {"removed": 1, "unchanged": 2}
    assert keys() == {"notes/1.txt", "notes/2.txt", "notes/a.md", "notes/sub/1.txt", "notes/sub/2.txt"}
    assert sources(run) == {"notes": 5}


def test_a_part_that_is_indexed_first_keeps_its_keys(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folder()
    with monkeypatch.context() as patch:
        patch.chdir("notes")
        run("index", "sub")
    assert changes(run("index", "notes", "--json")) == {"added": 3, "unchanged": 3}
    assert keys() == {f"notes/{i}.txt" for i in range(3)} | {f"sub/{i}.txt" for i in range(3)}
    assert sources(run) == {"notes": 3, "notes/sub": 3}


def test_a_file_that_two_paths_hold_is_read_once(run: Run) -> None:
    folder()
    assert changes(run("index", "notes", "notes/sub", "./notes/1.txt", "--json")) == {"added": 6}


def test_a_rejected_file_protects_its_own_document_only(run: Run) -> None:
    folder()
    run("index", "notes")
    Path("notes/0.txt").unlink()
    Path("notes/1.txt").write_bytes(b"%PDF\0")
    Path("notes/3.pdf").write_bytes(b"%PDF\0")
    answer = run("index", "notes", "--prune", "--json")
    assert (answer.code, changes(answer)) == (1, {"removed": 1, "unchanged": 4, "rejected": 2, "kept": 1})
    assert "1 document of notes/1.txt is kept: what was rejected may hold it; mend that, and prune again" in answer.err
    Path("notes/1.txt").unlink()
    answer = run("index", "notes", "--prune", "--json")
    assert (answer.code, changes(answer)) == (0, {"removed": 1, "unchanged": 4, "rejected": 1})


def test_a_record_without_a_known_key_protects_the_documents_of_its_file(run: Run) -> None:
    write("a/one.jsonl", records(*TEXTS[:3]))
    write("a/two.jsonl", records(*TEXTS[3:], first=3))
    run("index", "a")
    write("a/one.jsonl", records(TEXTS[0]) + "{\n")
    write("a/two.jsonl", records(TEXTS[3], first=3) + '{"id": "4", "text": 7}\n')
    answer = run("index", "a", "--prune", "--json")
    assert (answer.code, changes(answer)) == (1, {"removed": 1, "unchanged": 2, "rejected": 2, "kept": 2})
    assert "2 documents of a/one.jsonl are kept" in answer.err
    assert keys() == {"0", "1", "2", "3", "4"}


def test_orphaned_answers_do_not_block_pruning(run: Run) -> None:
    write("Posts.xml", posts(*TEXTS[:4]))
    run("threads", "Posts.xml")
    orphan = '<row Id="90" PostTypeId="2" ParentId="80" Body="cat"/></posts>'
    write("Posts.xml", posts(*TEXTS[:3]).replace("</posts>", orphan))
    answer = run("threads", "Posts.xml", "--prune", "--json")
    assert (answer.code, changes(answer)) == (0, {"removed": 1, "unchanged": 3, "rejected": 1})


def test_removing_more_than_half_must_be_confirmed(run: Run) -> None:
    folder()
    run("index", "notes")
    shutil.rmtree("notes/sub")
    Path("notes/0.txt").unlink()
    write("notes/new.txt", TEXTS[4])
    before = keys()
    refused = run("index", "notes", "--prune", "--json")
    assert (refused.code, changes(refused)) == (1, {})
    assert refused.sentence.startswith("nothing was changed: 4 of 6 documents of these sources would be removed")
    assert keys() == before
    assert run("index", "notes", "--prune").out == ""
    planned = run("index", "notes", "--prune", "--dry-run")
    assert planned.code == 0
    assert planned.sentence == "4 of 6 documents of these sources would be removed, so that --prune needs --yes"
    gone = ["notes/0.txt", *(f"notes/sub/{i}.txt" for i in range(3))]
    assert planned.out.splitlines()[:-1] == ["added    notes/new.txt", *(f"removed  {key}" for key in gone)]
    assert planned.out.splitlines()[-1].startswith(
        "nothing was changed by this dry run: 1 added, 4 removed, 2 unchanged"
    )
    assert keys() == before
    assert changes(run("index", "notes", "--prune", "--yes", "--json")) == {"added": 1, "removed": 4, "unchanged": 2}


def test_a_dry_run_of_a_new_collection_creates_none(call: Call, tmp_path: Path) -> None:
    write(str(tmp_path / "a.jsonl"), records(*TEXTS[:2]) + "{\n")
    answer = call("index", tmp_path / "a.jsonl", "-i", tmp_path / "new", "--dry-run", "--json")
    assert (answer.code, changes(answer)) == (0, {"added": 2, "rejected": 1})
    assert (answer.json["dry_run"], answer.json["keys"]) == (True, {"added": ["0", "1"], "updated": [], "removed": []})
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(("command", "name", "content"), KINDS[:3] + KINDS[4:])
def test_a_key_that_another_source_holds_is_rejected(
    run: Run, command: str, name: str, content: Callable[..., str]
) -> None:
    write(f"a/{name}", content(*TEXTS[:2]))
    write(f"b/{name}", content(TEXTS[0], *TEXTS[3:]))
    run(command, "a")
    refused = run(command, "b", "--json")
    assert (refused.code, changes(refused)) == (0, {"added": 2, "unchanged": 1, "rejected": 1})
    assert f"the key '1' is held by a/{name}: --prefix NAME puts NAME/ in front of the keys" in refused.sentence
    prefixed = run(command, "b", "--prefix", "b", "--json")
    assert (prefixed.code, changes(prefixed)) == (0, {"added": 2, "unchanged": 2})
    assert "the keys of 2 documents of b got the prefix 'b'" in prefixed.sentence
    assert keys() == {"0", "1", "b/0", "b/1", "b/2", "b/3"}
    again = run(command, "b", "--prune", "--json")
    assert (again.code, changes(again)) == (0, {"unchanged": 4})
    assert sources(run) == {"a": 2, "b": 4}


def test_many_held_keys_are_counted(run: Run) -> None:
    write("a.jsonl", records(*["cat dog"] * 50))
    write("b.jsonl", records(*["bird fish"] * 50))
    run("index", "a.jsonl")
    refused = run("index", "b.jsonl", "--json")
    assert changes(refused) == {"rejected": 50}
    assert len(refused.err.splitlines()) == 21
    assert sum("--prefix NAME" in line for line in refused.err.splitlines()) == 1
    assert refused.err.endswith("b.jsonl: 30 more records were rejected\n")


def test_a_strict_run_stops_at_a_key_of_another_source(run: Run) -> None:
    write("a.jsonl", records(*TEXTS[:2]))
    write("b.jsonl", records(*TEXTS[2:]))
    run("index", "a.jsonl")
    refused = run("index", "b.jsonl", "--strict")
    assert refused.code == 1
    assert "b.jsonl:1: the key '0' is held by a.jsonl" in refused.sentence
    assert keys() == {"0", "1"}


def test_the_prefix_of_a_source_can_change(run: Run) -> None:
    folder()
    run("index", "notes", "--prefix", "one")
    planned = run("index", "notes", "--prefix", "two", "--dry-run", "--json")
    assert (changes(planned), planned.err.count("would get the prefix 'two'")) == ({"unchanged": 6}, 1)
    assert "one/notes/0.txt" in keys()
    assert changes(run("index", "notes", "--prefix", "two", "--json")) == {"unchanged": 6}
    assert "two/notes/0.txt" in keys()
    part = run("index", "notes/sub", "--prefix", "three")
    assert part.code == 2
    assert "notes/sub is part of the source" in part.sentence
    assert changes(run("index", "notes", "--prefix", "", "--json")) == {"unchanged": 6}
    assert "notes/0.txt" in keys()
    write("a.jsonl", json.dumps({"id": "x/notes/1.txt", "text": "wine"}))
    run("index", "a.jsonl")
    taken = run("index", "notes", "--prefix", "x")
    assert taken.code == 1
    assert taken.sentence == "nothing was changed: the key 'x/notes/1.txt' is taken: choose another --prefix"


def listed(run: Run, *where: str) -> dict[str, dict[str, Any]]:
    """Return label and metadata of the documents that pass some conditions, by key."""
    conditions = [part for one in where for part in ("--where", one)]
    entries = run("list", "--json", *conditions).lines
    return {each["key"]: {"label": each["label"], **each["metadata"]} for each in entries}


@pytest.mark.parametrize("command", ["index", "threads"])
def test_metadata_of_a_whole_run(run: Run, command: str) -> None:
    """An option replaces the record's own field; another value updates documents, and without it they are as before."""
    own: dict[str, dict[str, Any]] = {"1": {"label": None, "site": "old", "year": 2}, "2": {"label": "kept"}}
    lines = [{"key": key, "parts": [{"text": "cat dog"}], **fields} for key, fields in own.items()]
    write("a.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
    write("b.jsonl", json.dumps({"key": "3", "parts": [{"text": "train bus"}]}))
    assert changes(run(command, "b.jsonl", "--json")) == {"added": 1}
    chosen = (command, "a.jsonl", "--set", "site=bikes", "--set", " tags = x=y", "--set", "tags=z", "--json")
    with_them: dict[str, Any] = {"site": "bikes", "tags": ["x=y", "z"]}
    assert changes(run(*chosen)) == {"added": 2}
    assert listed(run, "site=bikes") == {key: {**fields, **with_them} for key, fields in own.items()}
    assert changes(run(*chosen)) == {"unchanged": 2}
    assert changes(run(command, "a.jsonl", "--set", "site=cars", "--dry-run", "--json")) == {"updated": 2}
    assert changes(run(command, "a.jsonl", "--set", "site=cars", "--set", "label=new", "--json")) == {"updated": 2}
    assert listed(run, "site=cars", "label=new") == {
        key: {**fields, "site": "cars", "label": "new"} for key, fields in own.items()
    }
    assert changes(run(command, "a.jsonl", "--json")) == {"updated": 2}
    assert listed(run) == {"3": {"label": None}, **own}


def test_metadata_of_a_whole_run_are_those_of_every_format_and_of_standard_input(run: Run) -> None:
    write("notes/a.txt", "cat dog")
    write("notes/b.md", "---\ntitle: Birds\nsite: own\n---\nbird fish")
    write("notes/c.csv", "id,text\nrow,train bus\n")
    write("notes/d.mbox", mbox("car plane"))
    write("notes/e.html", "<p>apple bread</p>")
    assert changes(run("index", "notes", "--set", "site=all", "--prefix", "p", "--json")) == {"added": 5}
    assert changes(run("index", "-", "--set", "site=all", "--json", stdin=b"cheese wine\n")) == {"added": 1}
    found = listed(run, "site=all")
    assert found.keys() == keys()
    assert len(found) == 6


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("site", "--set 'site': write FIELD=VALUE, as in --set site=bikes"),
        ("=bikes", "--set '=bikes': write FIELD=VALUE"),
        ("site=", "--set 'site=': write FIELD=VALUE"),
        (f"{'n' * 501}=x", "--set has a field whose name has 501 bytes, over the limit of 500"),
        ("site=\udcff", "--set holds \\udcff, half of a surrogate pair: take it out"),
    ],
)
def test_metadata_that_no_document_can_have(run: Run, option: str, message: str) -> None:
    write("a.jsonl", records("cat dog"))
    answer = run("index", "a.jsonl", "--set", option)
    assert (answer.code, keys()) == (2, set())
    assert answer.sentence.startswith(message)
    answer = run("index", "a.jsonl", "--set", "label=a", "--set", "label=b")
    assert (answer.code, answer.sentence) == (
        2,
        "--set label: a document has one label; other fields take several values",
    )


def test_filters_by_source_take_the_names_that_commands_print(run: Run) -> None:
    folder()
    write("docs.jsonl", records("cat dog", "bird fish"))
    run("index", "notes")
    run("index", "./docs.jsonl")
    run("index", "-", stdin=b"cheese wine\n")
    in_sub = {key for key in keys() if key.startswith("notes/sub/")}
    assert in_sub
    for where in ("source^=notes/sub/", f"source^={Path.cwd()}/notes/sub/"):
        assert listed(run, where).keys() == in_sub
    for where in ("source=docs.jsonl", f"source={Path.cwd()}/docs.jsonl"):
        assert listed(run, where).keys() == {"0", "1"}
    shown = run("show", "notes/0.txt").out
    assert f"source    {Path.cwd()}/notes/0.txt" in shown
    assert listed(run, f"source={Path.cwd()}/notes/0.txt").keys() == {"notes/0.txt"}
    assert listed(run, "source=notes").keys() == {key for key in keys() if key.startswith("notes/")}
    assert listed(run, "source=-").keys() == keys() - listed(run, "source!=-").keys() != set()
    assert run("remove", "--where", "source=docs.jsonl").out.startswith("2 removed")


def test_two_runs_from_standard_input_are_two_sources(run: Run) -> None:
    one, two = b"cat dog\nbird fish\n", b"train bus\nbird fish\ncar plane\n"
    assert changes(run("index", "-", "--json", stdin=one)) == {"added": 2}
    refused = run("index", "-", "--json", stdin=two)
    assert changes(refused) == {"added": 1, "unchanged": 1, "rejected": 1}
    assert (
        "the key '-:1' is held by an earlier run from standard input, with another text: --prefix" in refused.sentence
    )
    assert changes(run("index", "-", "--prefix", "two", "--json", stdin=two)) == {"added": 3}
    assert changes(run("index", "-", "--prefix", "two", "--json", stdin=one)) == {"updated": 1, "unchanged": 1}
    assert changes(run("index", "-", "--prefix", "two", "--prune", "--json", stdin=one)) == {
        "removed": 1,
        "unchanged": 2,
    }
    assert changes(run("index", "-", "--replaces", "-", "--json", stdin=two)) == {"updated": 1, "unchanged": 2}
    assert changes(run("index", "-", "--prune", "--json", stdin=one)) == {"updated": 1, "unchanged": 1, "removed": 1}
    assert sources(run) == {"-": 2, "-:two": 2}


def test_a_moved_folder_keeps_its_documents(run: Run) -> None:
    folder()
    run("index", "notes")
    Path("archive").mkdir()
    Path("notes").rename("archive/2024")
    Path("archive/2024/1.txt").unlink()
    moved = run("index", "archive/2024", "--replaces", "notes", "--prune", "--json")
    assert (moved.code, changes(moved)) == (0, {"removed": 1, "unchanged": 5})
    assert sources(run) == {"archive/2024": 5}
    write("archive/2024/0.txt", TEXTS[5])
    assert changes(run("index", "archive/2024", "--json")) == {"updated": 1, "unchanged": 4}
    assert "notes/0.txt" in keys()


def test_a_renamed_file_takes_its_documents_over(run: Run) -> None:
    write("a.jsonl", records(*TEXTS[:3]))
    run("index", "a.jsonl")
    Path("a.jsonl").unlink()
    write("b.jsonl", records(TEXTS[0], *TEXTS[2:4]))
    assert changes(run("index", "b.jsonl", "--json")) == {"unchanged": 1, "rejected": 2}
    assert changes(run("index", "b.jsonl", "--replaces", "a.jsonl", "--json")) == {"updated": 2, "unchanged": 1}
    assert sources(run) == {"b.jsonl": 3}
    unknown = run("index", "b.jsonl", "--replaces", "a.jsonl")
    assert (unknown.code, "no document came from 'a.jsonl'" in unknown.sentence) == (2, True)


def test_a_source_that_is_gone_can_be_removed(run: Run) -> None:
    folder()
    write("a.jsonl", records(*TEXTS[:2]))
    run("index", "notes", "a.jsonl")
    shutil.rmtree("notes")
    assert run("index", "notes", "--prune", "--yes").code == 1
    before = keys()
    planned = run("remove", "--source", "notes/sub", "--dry-run", "--json").json
    assert planned == {"removed": 3, "documents": 8, "dry_run": True}
    assert run("remove", "--source", "notes/sub", "--dry-run").out == "3 of 8 documents would be removed\n"
    assert run("remove", "--source", "gone", "--dry-run").code == 1
    assert keys() == before
    removed = run("remove", "--source", "notes/sub", "--json")
    assert (removed.code, changes(removed)) == (0, {"removed": 3})
    assert changes(run("remove", "--source", "notes", "--json")) == {"removed": 3}
    assert sources(run) == {"a.jsonl": 2}
    again = run("remove", "--source", "notes")
    assert again.code == 1
    assert again.sentence.startswith("nothing was removed: no document came from 'notes'")
    assert run("remove").code == run("remove", "0", "--source", "a.jsonl").code == 2


def test_a_filter_limits_which_documents_of_a_source_are_removed(run: Run) -> None:
    for name in ("a", "b"):
        lines = [{"id": f"{name}{i}", "text": text, "year": 2000 + i} for i, text in enumerate(TEXTS[:3])]
        write(f"{name}.jsonl", "".join(json.dumps(line) + "\n" for line in lines))
        run("index", f"{name}.jsonl")
    chosen = ("remove", "--source", "a.jsonl", "--where", "year>=2001", "--json")
    assert run(*chosen, "--dry-run").json["removed"] == 2
    assert changes(run(*chosen)) == {"removed": 2}
    assert keys() == {"a0", "b0", "b1", "b2"}
    assert changes(run(*chosen)) == {}


def test_shown_documents_have_their_file(run: Run) -> None:
    write("notes/sub/a b.txt", TEXTS[0])
    run("index", "notes")
    run("index", "-", "--prefix", "mail", stdin=TEXTS[1].encode())
    place = str(Path("notes").resolve())
    listed = [(each["key"], each["source"], each["file"]) for each in run("list", "--json").lines]
    assert listed == [("notes/sub/a b.txt", place, "sub/a b.txt"), ("mail/-:1", "-:mail", "")]
    file = f"{place}/sub/a b.txt"
    assert [line.split("  ")[-1] for line in run("show", "notes/sub/a b.txt").out.splitlines()][1] == file
    assert changes(run("remove", "--source", file, "--json")) == {"removed": 1}


def test_an_export_with_prefixed_keys_makes_the_same_collection_again(
    run: Run, call: Call, tmp_path: Path, vectors: Path
) -> None:
    for name, texts in (("one", TEXTS[:3]), ("two", TEXTS[3:])):
        write(f"{name}.jsonl", records(*texts))
        run("index", f"{name}.jsonl", "--prefix", name)
    exported = run("export").out
    assert run("export", "-o", "all.jsonl").code == 0
    assert call("index", "all.jsonl", "-i", tmp_path / "again", "--embedding", vectors).code == 0
    assert call("export", "-i", tmp_path / "again").out == exported
    assert changes(run("index", "all.jsonl", "--json")) == {"unchanged": 6}
    assert sources(run) == {"one.jsonl": 3, "two.jsonl": 3}


def test_documents_of_an_unknown_source_belong_to_the_first_that_has_them(
    call: Call, collection: Path, documents: Path
) -> None:
    def listed() -> list[tuple[Any, int]]:
        found = call("info", "-i", collection, "--source", "--json").json["sources"]
        return [(each["source"], each["documents"]) for each in found]

    assert listed() == [(None, 10)]
    assert "10  unknown" in call("info", "-i", collection, "--source").out
    documents.write_text("".join(documents.read_text().splitlines(keepends=True)[:8]))
    answer = call("index", documents, "-i", collection, "--prune", "--json")
    assert changes(answer) == {"unchanged": 8}
    assert answer.sentence.startswith("2 documents of an unknown source are kept")
    assert listed() == [(None, 2), (str(documents.resolve()), 8)]
    answer = call("index", documents, "-i", collection, "--prune", "--replaces", "unknown", "--json")
    assert (answer.code, answer.err, changes(answer)) == (0, "", {"removed": 2, "unchanged": 8})


def test_collections_are_no_texts(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, vectors: Path) -> None:
    monkeypatch.chdir(tmp_path)
    write("a.txt", TEXTS[0])
    assert call("index", ".", "--embedding", vectors, "--json").json["added"] == 1
    for path in (".", "*", "**/*", str(tmp_path), "./"):
        answer = call("index", path, "--json")
        assert (answer.err, changes(answer)) == ("", {"unchanged": 1})
    for name in ("pairs-1f", "sample-tfidf-0.75", "cached-stems-english"):
        write(f"moverank.index/{name}", TEXTS[0])
    inside = call("index", "moverank.index")
    assert (inside.code, inside.sentence) == (1, "moverank.index: there is no file in this directory")
