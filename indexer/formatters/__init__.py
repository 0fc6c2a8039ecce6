"""Output formats: text for terminals, JSON and CSV for programs, HTML pages and figures."""

from typing import TYPE_CHECKING

from moverank.lazy_names import lazy_names as _lazy_names

if TYPE_CHECKING:
    from moverank.indexer.formatters.answer_view import view_of_answer as view_of_answer
    from moverank.indexer.formatters.arrow_files import Row as Row
    from moverank.indexer.formatters.arrow_files import document_rows as document_rows
    from moverank.indexer.formatters.arrow_files import document_schema as document_schema
    from moverank.indexer.formatters.arrow_files import is_arrow_name as is_arrow_name
    from moverank.indexer.formatters.arrow_files import result_table as result_table
    from moverank.indexer.formatters.arrow_files import write_rows as write_rows
    from moverank.indexer.formatters.csv_tables import csv_line as csv_line
    from moverank.indexer.formatters.csv_tables import document_table as document_table
    from moverank.indexer.formatters.csv_tables import entry_table as entry_table
    from moverank.indexer.formatters.csv_tables import metadata_fields as metadata_fields
    from moverank.indexer.formatters.document_lines import description_lines as description_lines
    from moverank.indexer.formatters.document_lines import entry_line as entry_line
    from moverank.indexer.formatters.duplicate_tables import duplicate_cells as duplicate_cells
    from moverank.indexer.formatters.duplicate_tables import duplicate_objects as duplicate_objects
    from moverank.indexer.formatters.duplicate_tables import duplicates_summary as duplicates_summary
    from moverank.indexer.formatters.duplicate_tables import duplicates_view as duplicates_view
    from moverank.indexer.formatters.escaping import printable as printable
    from moverank.indexer.formatters.escaping import printable_json as printable_json
    from moverank.indexer.formatters.html_page import explanation_page as explanation_page
    from moverank.indexer.formatters.html_page import ranking_page as ranking_page
    from moverank.indexer.formatters.json_objects import sources_object as sources_object
    from moverank.indexer.formatters.lines import cluster_objects as cluster_objects
    from moverank.indexer.formatters.lines import pair_cells as pair_cells
    from moverank.indexer.formatters.lines import pair_lines as pair_lines
    from moverank.indexer.formatters.lines import pair_objects as pair_objects
    from moverank.indexer.formatters.lines import reranked_lines as reranked_lines
    from moverank.indexer.formatters.lines import summary_line as summary_line
    from moverank.indexer.formatters.marking import as_written as as_written
    from moverank.indexer.formatters.progress import Bars as Bars
    from moverank.indexer.formatters.rejection_notes import RejectionNotes as RejectionNotes
    from moverank.indexer.formatters.sentences import Planned as Planned
    from moverank.indexer.formatters.sentences import percentage as percentage
    from moverank.indexer.formatters.sentences import refit_lines as refit_lines
    from moverank.indexer.formatters.terminal import explanation_view as explanation_view
    from moverank.indexer.formatters.terminal import has_colours as has_colours
    from moverank.indexer.formatters.terminal import info_view as info_view
    from moverank.indexer.formatters.terminal import json_line as json_line
    from moverank.indexer.formatters.terminal import note as note
    from moverank.indexer.formatters.terminal import print_changes as print_changes
    from moverank.indexer.formatters.terminal import print_check as print_check
    from moverank.indexer.formatters.terminal import print_hit_table as print_hit_table
    from moverank.indexer.formatters.terminal import print_lines as print_lines
    from moverank.indexer.formatters.terminal import print_object as print_object
    from moverank.indexer.formatters.terminal import print_ranking as print_ranking
    from moverank.indexer.formatters.terminal import print_rankings as print_rankings
    from moverank.indexer.formatters.terminal import print_run as print_run
    from moverank.indexer.formatters.terminal import print_text as print_text
    from moverank.indexer.formatters.terminal import print_view as print_view
    from moverank.indexer.formatters.terminal import shards_view as shards_view
    from moverank.indexer.formatters.terminal import sources_view as sources_view
    from moverank.indexer.formatters.terminal import why_not_view as why_not_view

if not TYPE_CHECKING:  # type checkers would accept any name, and do not compute `__all__`
    __all__, __getattr__, __dir__ = _lazy_names(globals())
