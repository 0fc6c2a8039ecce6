"""Reads one source: converted to text if a command does that, in its format, and in its encoding."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePath

from moverank.indexer.readers.bad_record import ReadResult
from moverank.indexer.readers.converter import Converter
from moverank.indexer.readers.detect import is_text
from moverank.indexer.readers.encodings import marked_encoding
from moverank.indexer.readers.source_faults import results_of
from moverank.indexer.readers.sources import STDIN, Source
from moverank.indexer.readers.streams import Meter, Stream

Reader = Callable[[Stream], Iterator[ReadResult]]
Detect = Callable[[Source, bytes], str]

OWN_ENCODING = frozenset({"mbox", "message", "stackexchange"})
"""Formats that name the encoding of their texts themselves."""


@dataclass(frozen=True, slots=True)
class SourceReader:
    """How sources are read: `readers` by format, `detect` for the format, and the `encoding`, by default UTF-8.

    With a `converter`, some files are read as what it makes of them.
    """

    readers: Mapping[str, Reader]
    detect: Detect
    encoding: str | None = None
    converter: Converter | None = None

    def results(self, source: Source, meter: Meter) -> Iterator[ReadResult]:
        """Read one source; faults of the whole source are results, too."""
        return results_of(source, meter, lambda stream: self._read(source, stream))

    def _read(self, source: Source, stream: Stream) -> Iterator[ReadResult]:
        converter = self.converter
        if converter is None or source.format or source.name == STDIN:
            yield from self._read_text(source, stream, self.encoding)
        elif converter.converts(
            PurePath(source.name).as_posix(), is_text=is_text(source, _head(stream, self.encoding))
        ):
            with converter.output(source.name) as output:
                # The extension of the file says nothing about its text.
                text = Source("", source.key, source.folder, explicit=False)
                yield from self._read_text(text, Stream(source, output.read), None)
        else:
            yield from self._read_text(source, stream, self.encoding)

    def _read_text(self, source: Source, stream: Stream, encoding: str | None) -> Iterator[ReadResult]:
        marked = marked_encoding(stream.head())
        if marked:
            stream.recode(marked, "it is damaged or cut off")
        name = source.format or self.detect(source, _head(stream, encoding))
        if encoding and not stream.recoded and name not in OWN_ENCODING:
            stream.recode(encoding, "--encoding names another encoding")
        yield from self.readers[name](stream)


def _head(stream: Stream, encoding: str | None) -> bytes:
    """Return the first bytes of a stream in UTF-8."""
    head = stream.head()
    encoding = marked_encoding(head) or encoding
    if encoding is None or stream.recoded:
        return head
    return head.decode(encoding, "ignore").encode("utf-8", "replace")
