"""What authors wrote in messages such as those of Outlook, Gmail, Thunderbird, newsreaders and Mailman."""

import re
from unittest.mock import Mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moverank.indexer.reading.formats.html import text_of_html
from moverank.indexer.reading.formats.quotations import own_text, without_encoded_data

QUOTED = "> Does the plug get hot?\n>\n> > It smells.\n"

ATTRIBUTIONS = [
    "On Tue, Mar 5, 2024 at 10:11 AM Ann Smith <ann@example.org> wrote:",
    "On Tue, Mar 5, 2024 at 10:11 AM Ann Smith\n<ann.smith.with.a.long.name@example.org> wrote:",
    "On 05/03/2024 10:11, Ann Smith wrote:",
    "On Mar 5, 2024, at 10:11, Ann Smith <ann@example.org> wrote:\n",
    "Ann Smith wrote:",
    "Ann Smith <ann@example.org> writes:",
    "In article <1993Mar5.101112.1@example.org> ann@example.org (Ann Smith) writes:",
    "In <abc@example.org>, Ann Smith wrote:",
    "ann@example.org (Ann Smith) wrote in message news:<abc@example.org>:",
    "Quoting Ann Smith <ann@example.org>:",
    "* Ann Smith <ann@example.org> [2024-03-05 10:11]:",
    "Am Di., 5. März 2024 um 10:11 Uhr schrieb Ann Smith <ann@example.org>:",
    "Am 05.03.2024 um 10:11 schrieb Ann Smith:",
    "Am Dienstag, 5. März 2024, 10:11:12 CET schrieb\nAnn Smith:",
    "Ann Smith schrieb am 05.03.24 um 10:11:",
    "Zitat von Ann Smith <ann@example.org>:",
    "Le mar. 5 mars 2024 à 10:11, Ann Smith <ann@example.org> a écrit :",
    "Le 05/03/2024 à 10:11, Ann Smith a écrit\xa0:",
    "El mar, 5 mar 2024 a las 10:11, Ann Smith (<ann@example.org>) escribió:",
    "El 5/3/24 a las 10:11, Ann Smith escribió:",
]


@pytest.mark.parametrize("line", ATTRIBUTIONS)
def test_marked_quotations_are_dropped_with_the_line_above_them(line: str) -> None:
    assert own_text(f"Yes, it does.\n\n{line}\n{QUOTED}", is_reply=True) == "Yes, it does."
    assert own_text(f"{line}\n\n{QUOTED}\nYes, it does.\n", is_reply=True) == "Yes, it does."
    assert own_text(f"In my view, yes\n{line}\n{QUOTED}", is_reply=True) == "In my view, yes"


@pytest.mark.parametrize("line", [line for line in ATTRIBUTIONS if line.startswith(("On ", "Am ", "Le ", "El "))])
def test_unmarked_quotations_are_all_that_follows(line: str) -> None:
    assert own_text(f"Yes, it does.\n\n{line}\nDoes the plug get hot?\n", is_reply=True) == "Yes, it does."


def test_answers_between_quoted_lines_stay() -> None:
    body = f"Hello Bob,\n\n{ATTRIBUTIONS[0]}\n> Does it get hot?\n\nYes.\n\n> And the socket?\nNo, cold.\n> Thanks\n"
    assert own_text(body, is_reply=True).split() == ["Hello", "Bob,", "Yes.", "No,", "cold."]


OUTLOOK = [
    "-----Original Message-----\nFrom: Ann Smith\nSent: Tuesday, March 5\nTo: Bob\nSubject: plug\n",
    "-----Ursprüngliche Nachricht-----\nVon: Ann Smith\nGesendet: Dienstag, 5. März\nAn: Bob\nBetreff: plug\n",
    "-----Message d'origine-----\nDe : Ann Smith\nEnvoyé : mardi 5 mars 2024 10:11\nÀ : Bob\nObjet : plug\n",
    "-----Mensaje original-----\nDe: Ann Smith\nEnviado el: martes, 5 de marzo\nPara: Bob\nAsunto: plug\n",
    "________________________________\nFrom: Ann Smith <ann@example.org>\nSent: 5 March 2024\nTo: Bob\nSubject: plug\n",
    "From: Ann Smith <ann@example.org>\nSent: 5 March 2024\nTo: Bob\nCc: Cid\nSubject: plug\n",
    "*Von:* Ann Smith <ann@example.org>\n*Gesendet:* 5. März 2024\n*An:* Bob\n*Betreff:* plug\n",
]


@pytest.mark.parametrize("headers", OUTLOOK)
def test_messages_of_outlook(headers: str) -> None:
    asked = "Does the plug get hot?\n\nAnn\n> an older mail\n"
    assert own_text(f"Yes, it does.\n\n{headers}\n{asked}", is_reply=True) == "Yes, it does."
    marked = f"{headers}\n> Does it get hot?\nYes.\n> And the socket?\nNo.\n"
    assert own_text(marked, is_reply=True) == "Yes.\nNo."
    passed_on = f"{headers}\nDoes the plug get hot?\n"
    assert own_text(passed_on, is_reply=True) == passed_on.strip()
    assert own_text(f"See below.\n{headers}\nHot?", is_reply=False) == f"See below.\n{headers}\nHot?"


FOOTERS = [
    "_______________________________________________\nPlugs mailing list\nPlugs@example.org\n"
    "https://example.org/mailman/listinfo/plugs\n",
    "_______________________________________________\nPlugs mailing list -- plugs@example.org\n"
    "To unsubscribe send an email to plugs-leave@example.org\n",
    "---------------------------------------------------------------------\nTo unsubscribe, e-mail: x@example.org\n",
    "_______________________________________________\nStecker Mailingliste\nZum Abmelden: https://example.org\n",
    "_______________________________________________\nListe de diffusion Prises\nPour se désinscrire : x@example.org\n",
    "_______________________________________________\nLista de correo Enchufes\nPara darse de baja: x@example.org\n",
    "-- \nYou received this message because you are subscribed to the group.\n",
    "-- \nAnn Smith\n",
    "Sent from my iPhone\n",
    "Von meinem iPhone gesendet\n",
]


@pytest.mark.parametrize("is_reply", [False, True])
@pytest.mark.parametrize("footer", FOOTERS)
def test_footers_and_signatures_are_dropped(footer: str, is_reply: bool) -> None:
    assert own_text(f"Yes, it does.\n\n{footer}", is_reply=is_reply) == "Yes, it does."
    assert own_text(f"Yes, it does.\n\n-- \nAnn\n{footer}", is_reply=is_reply) == "Yes, it does."


@pytest.mark.parametrize(
    "text",
    [
        "I agree fully\nwith what you say:",
        "In 2019 the report said:\n\nAt 10:30 the doctor wrote:\nit is new",
        "FYI:\nFrom: Ann\nSubject: plug\nDate: Wed Apr 21 19:01:49 1993\n\nThe plug gets hot.",
        "He wrote:\n\nThe plug gets hot.",
        "On Monday he wrote:\n\nDear all",
        "I can cite:\nFrom: Ann\nTo: Bob\n\nand more",
        "a table\n-----\n1 2\n_____\n3 4",
        "The mailing list is down.\n\n----------\nAnd the socket?",
        "Warning: it may burn.\n\n- unplug it\n- cool it\n\nBest regards\nAnn",
        "Steps:\n  1. unplug it\n  2. wait:\n\n    $ cat a > b",
    ],
)
def test_own_words_stay(text: str) -> None:
    for is_reply in (False, True):
        assert own_text(text, is_reply=is_reply) == text
    assert own_text(f"{text}\n\n{QUOTED}", is_reply=True) == text


def test_the_opening_post_keeps_what_it_quotes() -> None:
    body = f"Somebody said:\n{QUOTED}\nIs it so?"
    assert own_text(body, is_reply=False) == body


def test_a_digest_keeps_its_messages() -> None:
    messages = "".join(f"message {i}\n\n-- \nsignature {i}\n\n" + "text\n" * 30 for i in range(5))
    assert own_text(messages, is_reply=False) == messages.strip()


@given(st.lists(st.sampled_from(["own", "", "> q", *(" ".join(line.split()) for line in ATTRIBUTIONS), *OUTLOOK])))
def test_any_message_keeps_lines_of_its_own(blocks: list[str]) -> None:
    body = "\n".join(blocks)
    kept = own_text(body, is_reply=True).splitlines()
    if any(line.startswith(">") for line in kept):
        assert "\n".join(kept) == own_text(body, is_reply=False)  # it only quotes
    lines = iter(body.splitlines())
    assert all(line in lines for line in (one for one in kept if one.strip()))  # in their order


@pytest.mark.slow
def test_many_headers_are_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    header = Mock(wraps=re.compile("To:"))
    monkeypatch.setattr("moverank.indexer.reading.formats.quotations._HEADER", header)
    body = "\n".join(["To: a"] * 3000)
    assert own_text(body, is_reply=True) == body
    assert 3000 <= header.match.call_count <= 50 * 3000


def test_a_prompt_of_python_is_no_quotation() -> None:
    session = ">>> plug.heat()\n40\n>>> plug.off()"
    assert own_text(f"I tried this:\n\n{session}\n\n{QUOTED}", is_reply=True) == f"I tried this:\n\n{session}"
    assert own_text("Yes.\n\n> I ask\n>> you asked\n>>> is it hot?\n", is_reply=True) == "Yes."
    assert own_text("Yes.\n\nAnn Smith wrote:\n>>> is it hot?\n", is_reply=True) == "Yes."


EAST_ASIAN = [
    "2024年1月1日(月) 10:00 Taro Yamada <taro@example.com>:",
    "Li Hua <li@example.com> 于2024年1月1日周一 10:00写道\N{FULLWIDTH COLON}",
    "2024년 1월 1일 (월) 오전 10:00, Kim <kim@example.com>님이 작성:",
]


@pytest.mark.parametrize("line", EAST_ASIAN)
def test_introductions_of_east_asian_mail(line: str) -> None:
    assert own_text(f"はい。\n\n{line}\n\n{QUOTED}", is_reply=True) == "はい。"


def test_a_message_of_gmx() -> None:
    headers = "Gesendet: Montag, 01. Januar 2024 um 10:00 Uhr\nVon: Ann <ann@example.org>\nAn: Bob\nBetreff: Plug\n"
    assert own_text(f"Ja.\n\n{headers}\nWird er heiss?", is_reply=True) == "Ja."


SIGNATURE = "-----BEGIN PGP SIGNATURE-----\n\niQEzBAEBCAAdFiEE\n-----END PGP SIGNATURE-----"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (
            f"-----BEGIN PGP SIGNED MESSAGE-----\nHash: SHA256\n\nIt is hot.\n- -- \nAnn\n{SIGNATURE}\n",
            "It is hot.\n-- \nAnn\n",
        ),
        (f"It is hot.\n{SIGNATURE}", "It is hot."),
        ("It is hot.\nbegin 644 cat.jpg\n#0V%T\n`\nend\nBye.", "It is hot.\nBye."),
        ("-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQENBF\n-----END PGP PUBLIC KEY BLOCK-----\nMy key.", "My key."),
        ("We begin 644 miles away\nand that is the\nend", "We begin 644 miles away\nand that is the\nend"),
        (
            "begin 100 tests\n" + "It should not be so hot, as far as I know. " * 3 + "\nend",
            None,
        ),
        ("-----BEGIN PGP SIGNATURE-----\nnever ended", None),
    ],
)
def test_encoded_data_are_no_words(body: str, text: str | None) -> None:
    assert without_encoded_data(body) == (body if text is None else text)


def test_quotations_in_html_are_marked() -> None:
    page = (
        '<p>Yes.</p><div class="gmail_quote"><div class="gmail_attr">On Mon, Bob wrote:<br></div>'
        "<blockquote>Is it<br>hot?</blockquote><p>It is.</p><blockquote type=cite>And red?</blockquote></div>No."
    )
    marked = text_of_html(page, quotations="mark")
    assert marked.split("\n") == ["Yes.", "> On Mon, Bob wrote:", "> Is it", "> hot?", "It is.", "> And red?", "No."]
    assert own_text(marked, is_reply=True) == "Yes.\nIt is.\nNo."
    assert text_of_html("<blockquote>never closed <div>x", quotations="mark") == "> never closed\n> x"
    assert text_of_html("<div>" * 50_000 + "x" + "</p></div>" * 50_000, quotations="mark") == "x"
