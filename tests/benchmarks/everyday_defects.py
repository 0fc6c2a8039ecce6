"""Prints a Markdown table of everyday commands that once failed, with their answers now.

Every line is one run of the installed command, through the shell, in a temporary directory with small synthetic files.
A case is answered if its exit code and its output are the expected ones, without a traceback.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from tempfile import TemporaryDirectory

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import argument_parser, show

TEXTS = ["cat " * (i % 50) + "dog " * (i // 50) + "bus" for i in range(2000)]
DOCUMENTS = "".join(f'{{"id": "d{i}", "title": "Pets {i}", "text": "{text}"}}\n' for i, text in enumerate(TEXTS))
VECTORS = "4 3\ncat 1 0 0\ndog 0.9 0.1 0\ntrain 0 0 1\nbus 0 0.1 0.9\n"
QUERIES = '{"id": "a", "text": "cat"}\n{"text": \n{"id": "b", "text": "zebra"}\n{"id": "c", "text": "dog"}\n'
FILES = {
    "docs.jsonl": DOCUMENTS,
    "vectors.txt": VECTORS,
    "queries.jsonl": QUERIES,
    "good.jsonl": '{"id": "a", "text": "cat"}\n',
    "qrels": "d1 0 d2 1\nd2 0 d3 1\n",
    "long.jsonl": f'{{"id": "{0:03000}", "text": "cat"}}\n{{"id": "x", "text": "cat {5:09000}", "tag": "{3:09000}"}}\n',
    "labels.tsv": "zz\ta,b\nyy\tc\n",
}

CONTAINER = (
    "unshare --mount sh -c 'mount --make-rprivate / && mount --bind / / && mount -o remount,ro,bind / && cd $PWD && "
    "exec env -u TMPDIR HOME=/nonexistent LC_ALL=C {}'"
)
"""A read-only file system without a home directory; needs the right to mount."""

RERANK = (
    "import numpy; from moverank import Embedding, Reranker; "
    "Reranker(Embedding.of(['dog'], numpy.ones((1, 2), 'f'))).rank('dog', ['dog', None])"
)

TOO_LARGE = (
    "import numpy; from moverank import Embedding, Reranker, limit_cells; limit_cells(5); "
    "Reranker(Embedding.of(list('abcdef'), numpy.eye(6, dtype='f'))).rank('a b c', ['d e f'])"
)


@dataclass(frozen=True)
class Case:
    """What once failed, the shell's command line, the exit code expected now, and a part of the output."""

    description: str
    command: str
    code: int
    expected: str


def environments() -> Iterator[Case]:
    """Yield runs in containers, and with closed streams."""
    search = "moverank search cat -i old -k 1"
    yield Case("package, home and /tmp not writable", CONTAINER.format(search), 0, "compiling for this machine takes")
    index = CONTAINER.format("moverank index docs.jsonl -i old <&-")
    yield Case("index into a read-only collection", index, 1, "permission denied, or it is read-only")
    yield Case("closed standard output", "moverank info -i old --json >&-", 1, "standard output: it is closed")
    yield Case("closed standard input", f"{search} <&-", 0, "Pets")
    head = "moverank search cat -i old -k 2000 --json | head -c 9; exit ${PIPESTATUS[0]}"
    yield Case("more than 64 KB into head", head, 0, '{"hits":')
    demo = "NUMBA_CACHE_DIR=$PWD/numba moverank demo 2>&1 >output | grep -c compiling"
    yield Case("number of notes on compiling in the demo", demo, 0, "1")


def searches() -> Iterator[Case]:
    """Yield words without a vector, batches and budgets."""
    unknown = "moverank search 'cat zebra' -i old -k 1"
    yield Case("word without a vector", f"{unknown} --rank wmd", 0, "Ignored, without a vector: zebra.")
    yield Case("word without a vector, --json", f"{unknown} --json", 0, '"unknown_words": ["zebra"]')
    batch = "moverank search --queries queries.jsonl -i old -k 1 --format trec"
    yield Case("bad line in --queries", batch, 1, "queries.jsonl:2: broken JSON")
    yield Case("good lines in the same --queries", batch, 1, "c Q0 ")
    yield Case("budget below the time of loading", "moverank search cat -i old -k 1 --budget 0.3", 0, "ertified")
    yield Case("texts larger than the limit", f'python -c "{TOO_LARGE}"', 1, "3 and 3 distinct words are too large")
    yield Case("None among the texts of Reranker", f'python -c "{RERANK}"', 1, "a record or a Document, not None")


def rerankings() -> Iterator[Case]:
    """Yield candidates and lines of which some cannot be used."""
    run = "moverank rerank --embedding vectors.txt"
    query = '{\\"id\\": \\"q\\", \\"query\\": \\"cat\\", \\"candidates\\": '
    some = f'{query}[{{\\"id\\": \\"x\\"}}, \\"dog\\", \\"cat\\"]}}'
    lines = f'echo broken; echo "{some}"; echo "{query}[{{\\"id\\": \\"y\\"}}]}}"'
    expected = "1 of 3 candidates cannot be compared and come last: candidate 1 has no text"
    yield Case("a candidate without a text", f"({lines}) | {run}", 1, expected)
    yield Case("a broken first line", f"({lines}) | {run}", 1, "-:1: broken JSON")
    yield Case("a line of ids only", f"({lines}) | {run}", 1, "q: the candidates have ids only: give their texts")
    yield Case("the other candidates", f"({lines}) | {run}", 1, '"candidates": [{"text": "cat", "score": ')
    trec = "(echo query Q0 document rank score name; echo a Q0 d1 1 9 x; echo a Q0 d51 2 8 x)"
    yield Case("a header in a run", f"{trec} | moverank rerank --queries good.jsonl -i old", 1, "a Q0 d51 1 ")


def experiments() -> Iterator[Case]:
    """Yield experiments that fail at once, and long ones that are interrupted."""
    retrieval = "moverank evaluate retrieval -i old --qrels qrels"
    yield Case("--csv into a missing directory", f"{retrieval} --csv no/rows.csv", 2, "there is no directory no")
    yield Case("--plot into a missing directory", f"{retrieval} --plot no/x.svg", 2, "there is no directory no")
    yield Case("unknown measure", f"{retrieval} --measure foo", 2, "there is no measure 'foo'")
    yield Case("knn without labels", "moverank evaluate knn -i old", 2, "no document has a label")
    multilabel = "moverank evaluate multilabel -i old --labels labels.tsv"
    yield Case("multilabel without matching keys", multilabel, 2, "none of its keys is that of a document")
    bounds = "timeout --preserve-status 12 moverank evaluate bounds -i old --sample 2000"
    yield Case("long run: its distances", bounds, 1, "distances by WMD are to be computed")
    yield Case("SIGTERM, without leaked semaphores", bounds, 1, "interrupted: cached distances are kept")
    index = "sleep 5 | timeout --preserve-status 3 moverank index - -i old"
    yield Case("interrupted before anything is committed", index, 1, "interrupted: nothing was changed")


def judged() -> Iterator[Case]:
    """Yield judgments of keys with a prefix, of nothing in the collection, and of another engine's candidates."""
    index = "moverank index docs.jsonl -i pets --embedding vectors.txt --prefix pets 2>/dev/null"
    prefixed = f"{index}; moverank {{}} -i pets --qrels qrels"
    remedy = "the judgments have 'd2', the collection has 'pets/d2': --prefix pets puts pets/ in front"
    yield Case("judgments without the prefix", prefixed.format("evaluate retrieval"), 2, remedy)
    yield Case("the same in tune", prefixed.format("tune --folds 2"), 2, remedy)
    yield Case("tune --prefix", prefixed.format("tune --folds 2 --prefix pets"), 0, "cross-validated")
    long = "--method bm25 --method 'wmd:mu=20,weights=tfidf+0.5*cover+bm25:k1=1.6'"
    table = f"moverank evaluate retrieval -i old --qrels qrels {long}"
    narrow = f"script -qec 'stty cols 80; {table.replace(chr(39), chr(34))}' /dev/null"
    yield Case("evaluate at 80 columns", narrow, 0, "[a] wmd:mu=20,weights=tfidf+0.5*cover+bm25:k1=1.6")
    yield Case("--run of two methods", f"{table} --run r.trec >/dev/null; ls r.bm25.trec", 0, "r.bm25.trec")
    labels = 'sed \'s/}$/, "label": "x"}/; 2~2s/"x"/"y"/\' docs.jsonl | head -40 > labelled.jsonl'
    knn = "moverank evaluate knn -i knn --times 1 -k 1 --method bow --method wcd --predictions p.csv > table"
    classified = f"{labels}; moverank index labelled.jsonl -i knn --embedding vectors.txt 2>&1 >/dev/null; {knn}"
    yield Case("predictions of evaluate knn", f"{classified}; head -1 p.csv", 0, "split,key,label,bow,wcd")
    yield Case("p of evaluate knn", f"{classified}; head -1 table", 0, "error  deviation       p  k")
    run = "printf 'd1 Q0 d2 1 3 x\\nd1 Q0 d9 2 1 x\\nd2 Q0 d9 1 3 x\\nd2 Q0 d3 2 1 x\\n' > run"
    scores = f"{run}; moverank evaluate retrieval -i old --qrels qrels --candidates run --method vector --measure map"
    yield Case("the engine's scores as a term", scores, 0, "vector  0.7500")


def sources() -> Iterator[Case]:
    """Yield folders that are read again, pruned and overlap, and keys that two sources have."""
    notes = "mkdir notes other; echo cat > notes/a.txt; echo dog > notes/b.txt; echo bus > other/c.txt"
    twice = f"{notes}; cd notes; moverank index . --embedding ../vectors.txt; moverank index ."
    yield Case("a folder with its own collection in it, twice", twice, 0, "2 unchanged")
    pruned = f"{notes}; printf '%PDF-\\0' > notes/d.pdf; moverank index notes -i old; rm notes/b.txt"
    yield Case("--prune beside a PDF file", f"{pruned}; moverank index notes -i old --prune", 0, "1 removed")
    other = f"{notes}; moverank index other -i old --prune"
    yield Case("--prune of another folder", f"{other}; moverank info -i old --json", 0, '"documents": 2001')
    most = "head -n 9 docs.jsonl > few; mv few docs.jsonl; moverank index docs.jsonl -i old --prune"
    yield Case("--prune of more than half", most, 1, "1,991 of 2,000 documents of these sources would be removed")
    forum = 'echo \'{"id": "d1", "text": "bus"}\' > forum.jsonl; moverank index forum.jsonl -i old'
    yield Case("a key of another forum", forum, 1, "--prefix NAME puts NAME/ in front of the keys")
    yield Case("the same forum with --prefix", f"{forum} --prefix forum", 0, "1 added")
    spelled = f"{notes}; for path in notes ./notes $PWD/notes; do moverank index $path -i old; done"
    yield Case("a folder by three spellings", spelled, 0, "2 unchanged")
    piped = "echo cat | moverank index - -i old; echo dog | moverank index - -i old"
    yield Case("two runs from standard input", piped, 1, "is held by an earlier run from standard input")


def stores() -> Iterator[Case]:
    """Yield records at the limits of what is stored, and filters."""
    read = "moverank index long.jsonl -i old"
    yield Case("a key of 3,000 bytes", read, 0, "long.jsonl:1: the key has 3,000 bytes, over the limit of 2,000")
    found = f"{read}; moverank list -i old --where tag=$(printf %09000d 3)"
    yield Case("a word and a field of 9,000 characters", found, 0, "tag=0000")
    yield Case("a filter by keys", "moverank list -i old --where 'key^=d199' | wc -l", 0, "11")
    yield Case("a filter by sources", "moverank list -i old --where source=docs.jsonl | wc -l", 0, "2000")
    sites = "moverank index docs.jsonl -i old --set site=pets | tail -n 1"
    yield Case("metadata of a whole run", f"{sites}; moverank list -i old --where site=pets | wc -l", 0, "2000")
    empty = "moverank search cat -i old --where key=docs.jsonl"
    yield Case("a filter that nothing passes", empty, 0, "No document passes the filter: none meets key=docs.jsonl")
    foreign = "mkdir gift; echo postgresql://ada@db.example/texts > gift/database.url; moverank info -i gift"
    yield Case("a stranger's directory that names a database", foreign, 1, "to which your credentials would be sent")


def files() -> Iterator[Case]:
    """Yield files that are broken, unreadable, or in another form than usual, and conditions on metadata."""
    rights = "setpriv --bounding-set=-dac_override,-dac_read_search --inh-caps=-dac_override,-dac_read_search"
    closed = f"mkdir -p notes/no; echo cat > notes/a.txt; chmod 0 notes/no; {rights} moverank index notes -i old"
    yield Case("a folder that cannot be read, beside a text", closed, 0, "1 added, 1 rejected")
    loop = "mkdir -p g/h; echo cat > g/h/a.txt; ln -s .. g/h/up; moverank index 'g/**/*.txt' -i old"
    yield Case("a pattern and a loop of links", loop, 0, "1 added")
    broken = "(cat docs.jsonl; yes '{' | head -n 99) > bad.jsonl; moverank index bad.jsonl -i old"
    yield Case("99 broken lines", broken, 0, "79 more records were rejected")
    array = "(echo '['; sed 's/$/,/' docs.jsonl; echo ']') > all.json; moverank index all.json -i old"
    yield Case("a JSON array", array, 0, "2,000 unchanged")
    table = "printf 'ID,Text\\n7,cat\\n' > t.csv; moverank index t.csv -i old"
    yield Case("a CSV header in capitals", table, 0, "1 added")
    record = '{\\"id\\": \\"x\\", \\"text\\": \\"cat\\", \\"price\\": 3.0, \\"open\\": true}'
    filtered = f'echo "{record}" > p.jsonl; moverank index p.jsonl -i old'
    for condition in ("price=3", "open=True"):
        yield Case(f"--where {condition}", f"{filtered}; moverank list -i old --where {condition}", 0, "price=3.0")
    grown = "mkdir few; echo cat dog bus > few/a.txt; echo dog bus cat bird > few/b.txt; moverank index few -i grown"
    fitted = f"{grown}; moverank index docs.jsonl -i grown"
    yield Case("vectors trained on the first few texts", fitted, 0, "trained on them again")
    thread = 'echo \'{"id": "t", "title": "cat"}\' > t.jsonl; moverank threads t.jsonl -i old'
    yield Case("a thread without comments", thread, 0, "1 added")


def outputs() -> Iterator[Case]:
    """Yield whole texts, tables for spreadsheets, and lists in a pipe."""
    long = "(echo cat; yes dog | head -n 99; echo end) > long.txt; moverank index long.txt -i old"
    whole = f"{long}; moverank search dog --full --json --rank bm25 -k 1 -i old"
    yield Case("the whole text of a hit", whole, 0, "\\nend")
    yield Case(
        "hits for a spreadsheet", "moverank search cat -i old -k 1 --format csv", 0, "rank,key,title,label,distance"
    )
    yield Case("similar documents, too", "moverank similar d1 d2 -i old -k 1 --format csv", 0, "query,rank,key")
    yield Case("two stored documents", "moverank explain d1 d2 -i old", 0, "document d1 to document d2")
    thread = """echo '{"title": "cat", "body": "dog"}' > t.jsonl; moverank explain --thread t.jsonl d7 -i old"""
    yield Case("a thread of a file and a stored one", thread, 0, "distance 0.")
    yield Case("a mistyped key", "moverank explain d1x d2 -i old", 1, "a vector for, and no document has this key")
    yield Case(
        "a query without a vector", "moverank explain Pets d2 -i old", 1, "no word that the collection has a vector"
    )
    page = "moverank search cat -i old -k 2 --html hits.html; grep -c '<article' hits.html"
    same = """for key in x y; do echo '{"id": "'$key'", "text": "cat", "url": "p"}'; done > u.jsonl"""
    paged = f"{same}; moverank index u.jsonl -i new --embedding vectors.txt"
    by_page = f"{paged}; moverank search cat -i new --group-by url --json | grep -o snippet | wc -l | sed s/^/hits:/"
    yield Case("one hit a page", by_page, 0, "hits:1")
    certified = f"{paged}; moverank search cat -i new --group-by url"
    yield Case("what is certified of groups", certified, 0, "Certified: no document of another group by url is")
    misspelt = "moverank search cat -i old --group-by lable"
    yield Case("a misspelt field of groups", misspelt, 2, "no document has the field 'lable'")
    page = "moverank search cat -i old -k 2 --html hits.html; grep -c '<article' hits.html | sed s/^/hits:/"
    yield Case("hits as a page", page, 0, "hits:2")
    formula = """echo '{"id": "f", "title": "=1+1", "text": "cat"}' > f.jsonl; moverank index f.jsonl -i old"""
    yield Case("a title that is a formula", f"{formula}; moverank list -i old --format csv | tail -n 1", 0, "f,'=1+1")
    exported = "moverank export -i old -o all.csv; moverank index all.csv -i new --embedding vectors.txt"
    yield Case("documents through a spreadsheet and back", exported, 0, "2,000 added")
    title = "cat " * 40 + "end"
    listed = f"""echo '{{"id": "long", "title": "{title}", "text": "cat"}}' > l.jsonl; moverank index l.jsonl -i old"""
    yield Case("a long title in a pipe", f"{listed}; moverank list -i old | tail -n 1", 0, title)


def numbers() -> Iterator[Case]:
    """Yield the numbers of hits, and their parts."""
    search = "moverank search 'cat dog' -i old -k 1"
    added = "hit = json.load(sys.stdin)['hits'][0]; print(round(sum(hit['costs'].values()) - hit['total'], 9))"
    yield Case(
        "parts of a total that did not add up",
        f"{search} --json | python -c {quote(f'import json, sys; {added}')}",
        0,
        "0.0",
    )
    yield Case("what the number of a hit is", search, 0, "Ranked by the total, smaller is better: distance (wmd")
    yield Case("which scores are good", f"{search} --rank bm25", 0, "Ranked by the score, larger is better: bm25")
    explained = "moverank explain 'cat dog' d60 -i old"
    yield Case("units and weights of a total", explained, 0, "specification")


def rankings() -> Iterator[Case]:
    """Yield the same ranking in Python and on the command line, and its name."""
    chosen = "Settings(embedding='vectors.txt')"
    made = f"from moverank import Collection, Settings; Collection.create('made', {chosen}).close()"
    show_all = "for i in made old; do moverank info -i $i --json; done"
    same = f'python -c "{made}"; {show_all} | grep -o \'"title_weight":.*"rank": "[a-z]*"\' | sort -u | wc -l'
    yield Case("settings of Python and of the command line", same, 0, "1")
    candidates = 'echo \'{"id": "q", "query": "cat", "candidates": ["dog", "bus"]}\' > c.jsonl'
    rerank = f"{candidates}; moverank rerank --run c.jsonl --embedding vectors.txt --json"
    yield Case("rerank --embedding ranks by the default sum", rerank, 0, "0.5*cover")
    yield Case("--rank auto", "moverank search cat -i old -k 1 --rank auto --json", 0, "0.5*cover")
    yield Case("--rank default", "moverank search cat -i old --rank default", 2, "choose auto, the collection's own")
    yield Case("info says what auto stands for", "moverank info -i old --json", 0, '"ranking": "wmd:mu=20')
    notes = "mkdir notes; for i in 1 2 3; do echo the plug gets hot $i > notes/$i; done; moverank index notes -i few"
    few = "3 texts are too few to learn word vectors from: they are ranked by bm25"
    yield Case("vectors trained on three notes", notes, 0, few)
    chinese = "echo \u6211\u4eec\u53bb\u5317\u4eac > zh.txt; moverank index zh.txt -i zh"
    yield Case("text without spaces", chinese, 0, "a script without spaces between words")
    plain = "moverank index docs.jsonl -i plain --embedding vectors.txt --language none; "
    plain += "moverank info -i plain --json"
    yield Case("--language none does not stem", plain, 0, "2*bm25:k1=1.6+cosine")


def duplicates() -> Iterator[Case]:
    """Yield near duplicates that differ in words without a vector."""
    lines = "".join(f'{{"id": "{key}", "text": "cat {word}"}}\n' for key, word in (("a", "0x80070005"), ("b", "0x57")))
    made = f"printf %s {quote(lines)} > e.jsonl; moverank index e.jsonl -i e --embedding vectors.txt"
    differ = "no vector: 0x80070005 in a; 0x57 in b"
    yield Case("texts that differ only in an error code", f"{made}; moverank pairs -i e --within 0", 0, differ)
    far = f"{made}; moverank pairs -i e -k 1 --unknown far"
    by_sum = f"{made}; moverank pairs -i e -k 1 --rank auto --json"
    yield Case("pairs by the collection's own ranking", by_sum, 0, '"unknown_words": [["0x80070005"], ["0x57"]]')
    yield Case("words without a vector far from all others", far, 0, "0.8263")


def usage() -> Iterator[Case]:
    """Yield forms of help, and completion."""
    yield Case("-h", "moverank search -h", 0, "Usage: moverank search")
    yield Case("help of a command", "moverank help evaluate knn", 0, "Usage: moverank evaluate knn")
    completion = "COMP_WORDS='moverank search x --rank wmd+b' COMP_CWORD=4 _MOVERANK_COMPLETE=complete_bash"
    yield Case("completion of a ranking", f"{completion} moverank", 0, "wmd+bm25")
    every = "--cors '*' would let the pages of every web site use this server: name each origin"
    yield Case("all pages of the web as origins", "moverank serve -i old --cors '*'", 2, every)
    short = "token:2: a token needs 16 characters or more, without spaces"
    tokens = "printf 'a-token-of-24-characters\\nshort\\n' > token"
    yield Case("one of several tokens too short", f"{tokens}; moverank serve -i old --token-file token", 2, short)


def arguments() -> Iterator[Case]:
    """Yield options that one kind of collection took and another did not, and runs that only seemed to succeed."""
    shards = "moverank shards create -i s.toml --shards 2 --embedding vectors.txt --first-stage given"
    text = 'echo \'{"id": "a", "text": "cat", "vector": [1, 0]}\' > g.jsonl; moverank index g.jsonl -i s.toml'
    explained = f"{shards} && {text} && moverank explain dog a -i s.toml --query-vector '[0, 1]' --why-not"
    yield Case("explain --query-vector on shards", explained, 0, "dog   cat")
    for wrong in ("search('cat', k='3')", "search(None)", "similar(None)", "rerank('cat', None)", "remove(3)"):
        code = f"python -c \"from moverank import Collection; Collection.open('old').{wrong}\""
        yield Case(f"{wrong} in Python", code, 1, "errors.UsageError: ")
    accent = 'echo \'{"id": "é", "text": "cat"}\' > e.jsonl; moverank index e.jsonl -i old'
    yield Case("JSON in Latin-1", f"{accent}; PYTHONIOENCODING=latin-1 moverank list -i old --json", 0, '"key": "é"')
    yield Case("how words are split", "moverank help words", 0, "| `USB-C 3.1` | `usb c 3 1` |")
    yield Case("two words without quotes", "moverank search hot plug", 2, 'quotes: `moverank search "hot plug"`')
    yield Case("a misspelt ranking", "moverank search cat -i old --rank bm52", 2, "(did you mean bm25?)")
    yield Case("switches in --help", "moverank search -h | grep -e '--exact  *Compare'", 0, "--exact")
    mixed = "printf '{\n{\n' > bad.jsonl; head -n 1 docs.jsonl >> bad.jsonl; moverank index bad.jsonl -i old"
    yield Case("two of three records rejected", mixed, 1, "most records were rejected, 2 of 3")


def records() -> Iterator[Case]:
    """Yield records whose texts are elsewhere, or in another form, than in usual ones."""
    posts = [{"post_number": 1, "cooked": "<p>cat</p>"}, {"post_number": 2, "cooked": "dog &amp; bus"}]
    topic = quote(json.dumps({"id": 7, "title": "Pets", "post_stream": {"posts": posts}}))
    read = f"echo {topic} > t.json; moverank threads t.json -i old"
    yield Case("the replies of a Discourse topic", f"{read}; moverank export -i old --where key=7", 0, '"dog & bus"')
    yield Case(
        "a Discourse topic for index", f"{read.replace('threads', 'index')}", 1, "`moverank threads` reads its posts"
    )
    titles = quote(json.dumps({"topic_list": {"topics": [{"id": 7, "title": "Pets"}]}}))
    latest = f"echo {titles} > latest.json; moverank threads latest.json -i old"
    yield Case("a list of Discourse topics", latest, 1, "which has only titles: save each topic with its posts")
    long = quote(json.dumps({"id": "x", "title": "cat", "message": "dog and bus " * 30}))
    thread = f"echo {long} > m.jsonl; moverank threads m.jsonl -i old"
    yield Case("a long text that is not read", thread, 0, "--text-field message reads it as the text")
    page = quote(json.dumps({"id": "x", "text": "<p>The <b>cat</b>&#x27;s &quot;dog&quot;</p>"}))
    html = f"echo {page} > h.jsonl; moverank index h.jsonl -i old; moverank export -i old --where key=x"
    yield Case("HTML in a record", html, 0, "The cat's \\\"dog")
    code = quote(json.dumps({"id": "x", "text": "if (cat < dog && bus > 3)"}))
    kept = f"echo {code} > c.jsonl; moverank index c.jsonl -i old; moverank export -i old --where key=x"
    yield Case("code in a record", kept, 0, "cat < dog && bus > 3")
    line = quote(json.dumps({"query": "cat", "candidates": ["<p>cat &amp; dog</p>", "<br>bus"]}))
    reply = "From: a@b.c\\nSubject: Re: cat\\nMessage-ID: <m>\\nReferences: <l>\\n\\n"
    quoting = f"printf '{reply}On May 5, 2024 at 10:11, Ann wrote:\\n> cat?\\na dog\\n> bus?\\nno bus\\n' > m.eml"
    mail = f"{quoting}; moverank index m.eml -i old; moverank export -i old --where key=m"
    yield Case("answers between quotations of a mail", mail, 0, '"text": "a dog\\nno bus"')
    yield Case("HTML in candidates", f"echo {line} | moverank rerank -i old", 0, "its candidates are HTML")


SUBJECTS = (
    environments,
    sources,
    stores,
    files,
    searches,
    rankings,
    rerankings,
    experiments,
    judged,
    outputs,
    numbers,
    duplicates,
    usage,
    arguments,
    records,
)
"""What is tried, in this order: functions of cases."""


def answer(case: Case) -> tuple[int, str]:
    """Run a case in a directory of its own, and return the exit code, and the expected line or all of the output."""
    with TemporaryDirectory() as name:
        folder = Path(name).resolve()
        for file, content in FILES.items():
            (folder / file).write_text(content)
        run(folder, "moverank index docs.jsonl -i old --embedding vectors.txt")
        process = run(folder, case.command)
        lines = (process.stderr + process.stdout).decode().replace(f"{folder}/", "").splitlines()
    wrong = [line for line in lines if ("Traceback" in line and "python" not in case.command) or "leaked" in line]
    found = wrong or [line.strip() for line in lines if case.expected in line]
    return process.returncode, found[0] if found else " / ".join(lines)


def run(folder: Path, command: str) -> "subprocess.CompletedProcess[bytes]":
    """Run a command line in a folder, with the programs beside this Python."""
    environment = {name: value for name, value in os.environ.items() if name != "MOVERANK_INDEX"}
    environment["PATH"] = f"{Path(sys.executable).parent}:{environment['PATH']}"
    shell = ["bash", "-c", command]
    return subprocess.run(shell, cwd=folder, env=environment, capture_output=True, check=False)


def main() -> None:
    """Print the table; exit with a message if an answer is not the expected one."""
    argument_parser(__doc__).parse_args()
    if not Path(sys.executable).with_name("moverank").exists():
        sys.exit("there is no moverank command beside this Python: install the project first")
    show("| what failed | command | exit code | answer |")
    show("|---|---|---|---|")
    failed = 0
    for case in (case for subject in SUBJECTS for case in subject()):
        code, line = answer(case)
        failed += code != case.code or case.expected not in line
        cells = (case.description, f"`{case.command}`", str(code), line[:160])
        show(f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |")
    sys.exit(f"{failed} cases are not answered as expected" if failed else 0)


if __name__ == "__main__":
    main()
