"""Data files as users have them, and what is said about them."""

import bz2
import datetime
import decimal
import gzip
import io
import lzma
import random
import re
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from tests.conftest import data_folder, needs_data
from umfi.cli.files import prepare, read_data_file
from umfi.cli.files.cells import find_stray, is_number, settle_objects, tidy_columns
from umfi.data.reading import read_table
from umfi.errors import InputError

N = 40
LABELS_NOTE = "Left out as row labels, because most of their texts are different: "
WORDS = {"\t": "tabs", ";": "semicolons", "|": "bars", ",": "commas", " ": "blanks"}


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.fixture
def read(write):
    def read_content(content, name="data.csv", **options):
        return read_data_file(write(content, name), **options)

    return read_content


def zipped(data, name="inner.csv", **more):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for member, content in {name: data, **more}.items():
            archive.writestr(member, content)
    return packed.getvalue()


PACKERS = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": zipped,
}


def soils():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "größe m": rng.normal(size=N).round(3),
            "soil": rng.choice(["clay", "sand", "löss"], N),
            "count": rng.integers(0, 9, N),
            "yield": rng.normal(size=N).round(3),
        }
    )


# ---------------------------------------------------------------- text


@pytest.mark.parametrize("suffix", PACKERS)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16", "utf-16-le"])
@pytest.mark.parametrize("delimiter", WORDS)
def test_delimiter_encoding_and_packing_are_found_out(read, delimiter, encoding, suffix):
    text = soils().to_csv(sep=delimiter, index=False)
    data = read(PACKERS[suffix](text.encode(encoding)), "soils.csv" + suffix)
    pd.testing.assert_frame_equal(data.frame, soils())
    assert any(WORDS[delimiter] in note for note in data.notes) == (delimiter != ",")
    assert any("Windows-1252" in note for note in data.notes) == (encoding == "cp1252")
    assert any("UTF-16" in note for note in data.notes) == encoding.startswith("utf-16")


@pytest.mark.parametrize(
    ("suffix", "delimiter", "is_noted"),
    [(".tsv", "\t", False), (".tab", ";", True), (".txt", ";", False), (".dat", " ", False)],
)
def test_a_delimiter_is_noted_where_the_suffix_suggests_another(read, suffix, delimiter, is_noted):
    data = read(soils().to_csv(sep=delimiter, index=False), "soils" + suffix)
    pd.testing.assert_frame_equal(data.frame, soils())
    assert bool(data.notes) == is_noted


NASTY = """\
# Bodenproben 2020
# erhoben von N. N.

Proben Nr;Datum;pH Wert ;"Höhe; m ü. NN";Bemerkung;Ton %;Klasse
1;01.02.2020;6,5;1.234,5;"Acker; nass
und ""steinig\""";12;ja
2;13.02.2020;7,25;987;Wiese;?;nein
3;20.02.2020;NA;1.001,25;Acker;-;ja
4;21.02.2020;5,5;1.100;Wiese;7;
"""


def test_a_nasty_file_is_read_as_it_is_meant(read):
    data = read(NASTY.encode("cp1252").replace(b"\n", b"\r\n"))
    frame = data.frame
    assert list(frame) == [
        "Proben Nr",
        "Datum",
        "pH Wert",
        "Höhe; m ü. NN",
        "Bemerkung",
        "Ton %",
        "Klasse",
    ]
    assert frame["pH Wert"].tolist()[:2] == [6.5, 7.25]
    assert frame["Höhe; m ü. NN"].tolist() == [1234.5, 987.0, 1001.25, 1100.0]
    assert frame["Bemerkung"][0] == 'Acker; nass\r\nund "steinig"'
    assert frame["Ton %"].isna().tolist() == [False, True, True, False]
    assert frame["Klasse"].isna().tolist() == [False, False, False, True]
    assert data.notes == [
        "The file is not UTF-8 and is read as Windows-1252: pass --encoding if letters are wrong.",
        "Fields are separated by semicolons.",
        "Numbers are written with decimal commas.",
        "Dashes and dots without a number are taken as missing in 'Ton %'.",
    ]


def test_a_nasty_file_becomes_features_and_a_response(read):
    rows = NASTY.strip().splitlines(keepends=True)
    header, body = "".join(rows[:4]), "".join(rows[4:]) + "\n"
    data = prepare(read(header + body).frame, "Klasse", missing="drop")
    assert data.y.tolist() == ["ja", "nein", "ja"]
    assert data.X["Datum"].tolist() == [0.0, 12.0, 19.0]
    assert list(data.X) == ["Datum", "pH Wert", "Höhe; m ü. NN"]
    assert data.notes == [
        "Left out for lack of a value of the target 'Klasse': 1 of 4 rows.",
        "Left out as row numbers: 'Proben Nr'; --kinds 'Proben Nr'=continuous keeps it.",
        "Taken as days since the first date: 'Datum' (2020-02-01); --drop 'Datum' leaves it out.",
        LABELS_NOTE + "'Bemerkung'.",
        "Left out for having one single value: 'Ton %'.",
    ]


@pytest.mark.parametrize(
    ("content", "values", "note"),
    [
        ("a;b\n1,5;2\n2,25;3\n", [1.5, 2.25], "Numbers are written with decimal commas."),
        ("a b\n1,5 2\n2,25 3\n", [1.5, 2.25], "Numbers are written with decimal commas."),
        ('a,b\n"1,5",2\n"2,25",3\n', [1.5, 2.25], "Numbers are written with decimal commas."),
        ("a;b\n1,234;2\n2,345;3\n", [1.234, 2.345], "Numbers are written with decimal commas."),
        ("a;b\n1.234,5;2\n2.345.678,5;3\n", [1234.5, 2345678.5], "decimal commas"),
        ("b;a\n1,5;1.234\n1,5;2.345\n", [1234, 2345], "decimal commas"),
        ("b;a\n1,5;1.25\n1,5;2.5\n", [1.25, 2.5], "decimal commas"),
        ("a;b\n1.234;2\n2.345;3\n", [1.234, 2.345], "semicolons"),
        ("a;b\n1,234;2.5\n2,345;3.5\n", [1234, 2345], "separators of thousands in 'a'"),
        ('a,b\n"1,234",2\n"2,345",3\n', [1234, 2345], "separators of thousands in 'a'"),
        ('a,b\n"1,234.5",2\n3,3\n', [1234.5, 3.0], "separators of thousands in 'a'"),
    ],
)
def test_commas_in_numbers_are_understood(read, content, values, note):
    data = read(content)
    assert data.frame["a"].tolist() == values
    assert any(note in one for one in data.notes)


def test_decimal_commas_below_the_first_rows_are_understood(read):
    data = read("a;b\n" + "1;2\n" * 300 + "1,5;3\n")
    assert data.frame["a"].iloc[-1] == 1.5
    assert "Decimal commas are read in 'a'." in data.notes


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("first name,last name\nann x,doe y\nbob z,roe w\n", ["first name", "last name"]),
        ("Temp, C;Rain, mm\n1,5;2,5\n3,5;4,5\n", ["Temp, C", "Rain, mm"]),
        ("TP53|7157,BRCA|672\n1,2\n3,4\n", ["TP53|7157", "BRCA|672"]),
        ("  x   y\n 1  2\t\n 3\t4  \n", ["x", "y"]),
        ("sep=;\na,b;c\n1;2\n", ["a,b", "c"]),
        ("a,b\r1,2\r3,4\r", ["a", "b"]),
        ("a,b,\n1,2,\n3,4,\n", ["a", "b"]),
        ("a,b,\n1,2\n3,4\n", ["a", "b"]),
        ("a,b\n1,2,\n3,4\n", ["a", "b"]),
        (' a , b\x01 \n1,"x, ""y"""\n', ["a", "b\x01"]),
        ('a,"b\nc"\n\n1,2\n   \n3,4\n', ["a", "b\nc"]),
    ],
)
def test_names_are_found(read, content, names):
    assert list(read(content).frame) == names


@pytest.mark.parametrize(
    "content",
    [
        '"a" "b"\n"r1" 1 2\n"r2" 3 4\n',
        '"a" "b"\n"7" 1 2\n"8" 3 4\n',
        '"","a","b"\n"1",1,2\n"2",3,4\n',
        ",a,b\nann,1,2\nbob,3,4\n",
        "Unnamed: 0,a,b\n0,1,2\n1,3,4\n",
        ";a;b\n0;1,0;2\n1;3,0;4\n",
    ],
)
def test_labels_of_rows_without_a_name_are_left_out(read, content):
    data = read(content, "data.txt")
    assert data.frame.to_dict("list") == {"a": [1, 3], "b": [2, 4]}
    assert "no name" in data.notes[0] or "no column name" in data.notes[0] or data.notes[1:]


def test_other_columns_without_a_name_are_called_by_their_place(read):
    data = read("a,,b,\n1,x,2,\n3,x,4,\n")
    assert list(data.frame) == ["a", "column 2", "b"]
    assert data.notes == ["Column 2 has no name and is called 'column 2'."]


def test_names_may_stand_in_the_last_comment(read):
    data = read("# made by numpy\n# x y\n1 2\n3 4\n", "data.txt")
    assert data.frame.to_dict("list") == {"x": [1, 3], "y": [2, 4]}
    assert data.notes == ["The column names are taken from the comment in line 2."]


def test_names_that_are_numbers_are_noted(read):
    assert read("0.1,0.2\n1,2\n").notes == [
        "All column names are numbers: put a line of names first if there is none."
    ]


def test_usual_strings_are_missing_but_numbers_are_not(read):
    gaps = ["", "NA", "?", "N/A", "null", " NaN ", "#DIV/0!"]
    frame = read("a,b,c\n" + "".join(f"{gap},{gap},1\n" for gap in gaps) + "-999,x,1\n").frame
    assert frame["a"].isna().sum() == len(gaps) == frame["b"].isna().sum()
    assert frame["a"].iloc[-1] == -999


def test_a_dash_is_missing_among_numbers_and_a_level_among_text(read):
    frame = read("strand,ph\n+,1\n-,-\n+,3\n").frame
    assert frame["strand"].tolist() == ["+", "-", "+"]
    assert frame["ph"].isna().tolist() == [False, True, False]


def test_stray_entries_leave_text_and_are_named(read):
    data = read("x,conc\n" + "1,2.5\n" * 8 + "1,<0.01\n1,n/a*\n")
    assert data.frame["conc"].iloc[0] == "2.5"
    assert data.notes == [
        (
            "Text stays text where not every entry is a number: 'conc' ('<0.01'); correct such "
            "entries if the column is a quantity."
        )
    ]
    many = ",".join(f"x{place}" for place in range(12)) + "\n"
    many += (",".join(["1"] * 12) + "\n") * 9 + ",".join(["<1"] * 12) + "\n"
    assert "'x7' ('<1') and 4 more;" in read(many).notes[0]


def test_rows_of_units_and_footers_are_named(read):
    rows = "".join(f"{place},{place / 10}\n" for place in range(9))
    data = read("depth,ph\nm,log\n" + rows)
    assert "'depth' ('m'), 'ph' ('log'); correct such entries" in data.notes[0]
    data = read("depth,ph\n" + rows + "Source: own work\n")
    assert "1 of them and the first in line 11" in data.notes[0]
    assert "'depth' ('Source: own work')" in data.notes[1]


def test_text_is_stripped_and_booleans_keep_their_gaps(read):
    frame = read("soil,wet\n clay ,TRUE\nclay,NA\n sand,FALSE\n").frame
    assert frame["soil"].tolist() == ["clay", "clay", "sand"]
    assert frame["wet"].isna().tolist() == [False, True, False]
    assert frame["wet"][0] is np.True_ or frame["wet"][0] is True


def test_empty_and_short_rows_are_reported(read):
    data = read("a,b,c\n1,2,3\n,,\n4,5\n,,\n")
    assert data.frame["a"].tolist() == [1, 4]
    assert data.frame["a"].dtype == np.int64
    assert data.notes == [
        (
            "Rows with fewer fields than names, 1 of them and the first in line 4, are taken to "
            "lack the last ones."
        ),
        "Rows without any value are left out: 2.",
    ]


@pytest.mark.parametrize(
    ("given", "content"),
    [
        ("tab", "a\tb\n1\t2\n"),
        ("\\t", "a\tb\n1\t2\n"),
        (":", "a:b\n1:2\n"),
        ("blank", "a b\n1 2\n"),
    ],
)
def test_a_delimiter_that_is_given_is_used(read, given, content):
    data = read(content, delimiter=given)
    assert data.frame.to_dict("list") == {"a": [1], "b": [2]}
    assert data.notes == []


def test_an_encoding_that_is_given_is_used(read):
    data = read("имя,b\nя,2\n".encode("cp1251"), encoding="cp1251")
    assert list(data.frame) == ["имя", "b"]
    assert data.notes == []


@pytest.mark.parametrize("delimiter", WORDS)
@pytest.mark.parametrize("seed", range(4))
def test_what_pandas_writes_is_read_back(read, delimiter, seed):
    rng = random.Random(seed)
    letters = 'aZ ä,;|"\n#' + ("" if delimiter == " " else "\t")  # Tabs are blanks, too.
    words = ["".join(rng.choices(letters, k=rng.randint(1, 6))) + "x" for _ in range(6)]
    written = pd.DataFrame(
        {
            "i": [rng.randint(-9, 9) for _ in range(30)],
            f"s {words[0]}": ["x" + rng.choice(words) for _ in range(30)],
            "f": [rng.choice([None, rng.random()]) for _ in range(30)],
        }
    )
    data = read(written.to_csv(sep=delimiter, index=False, na_rep="NA"), "data.txt")
    assert list(data.frame) == list(written)
    for (_, found), (_, meant) in zip(data.frame.items(), written.items(), strict=True):
        assert found.fillna(-1).tolist() == pytest.approx(meant.fillna(-1).tolist())


@needs_data
def test_the_tables_of_the_paper_are_read(tmp_path):
    genes = read_data_file(data_folder() / "BRCA.csv")
    assert genes.notes == []
    data = prepare(genes.frame, "BRCA_Subtype_PAM50")
    assert data.X.shape == (572, 50)
    assert "'Sample.ID'" in data.notes[0]
    climate = read_data_file(data_folder() / "camels_clim.txt").frame
    assert "gauge_id" not in prepare(climate, "p_mean").X


# ---------------------------------------------------------------- other formats


def typed():
    days = pd.date_range("2020-01-01", periods=N, freq="36h")
    return soils().assign(
        day=[day.date() for day in days],
        moment=days.tz_localize("UTC"),
        price=[decimal.Decimal(place) / 8 for place in range(N)],
        wet=[True, None] * (N // 2),
        hour=[datetime.time(place % 24) for place in range(N)],
        waited=pd.to_timedelta(np.arange(N) * 6, unit="h"),
        grade=pd.Categorical(["low", "high"] * (N // 2), ["low", "high"], ordered=True),
    )


@pytest.mark.parametrize("name", ["t.parquet", "t.pq", "t.feather", "t.arrow", "t", "t.data"])
def test_parquet_and_feather_are_read_and_can_be_used(tmp_path, name):
    path = tmp_path / name
    (typed().to_feather if name in ("t.feather", "t.arrow") else typed().to_parquet)(path)
    data = read_data_file(path)
    pd.testing.assert_frame_equal(data.frame[list(soils())], soils())
    prepared = prepare(data.frame, "yield", missing="level")
    assert prepared.X["day"].tolist()[:4] == [0.0, 1.0, 3.0, 4.0]
    assert prepared.X["moment"].tolist()[:3] == [0.0, 1.5, 3.0]
    assert prepared.X["waited"].tolist()[:3] == [0.0, 0.25, 0.5]
    assert prepared.X["hour"].tolist()[:2] == [0.0, 1 / 24]
    assert prepared.X["price"].tolist()[:2] == [0.0, 0.125]
    columns, target, _ = read_table(prepared.X, prepared.y, missing="level")
    assert columns.n_columns == 10
    assert target.task == "regression"


def test_an_arrow_stream_is_read(tmp_path):
    import pyarrow as pa

    table = pa.table({"a": [1, 2], "b": ["x", "y"]})
    with pa.ipc.new_stream(tmp_path / "t.arrow", table.schema) as writer:
        writer.write_table(table)
    assert read_data_file(tmp_path / "t.arrow").frame.to_dict("list") == table.to_pydict()


def test_a_named_index_is_a_column_and_names_of_rows_are_left_out(tmp_path):
    soils().set_index("soil").to_parquet(tmp_path / "a.parquet")
    assert sorted(read_data_file(tmp_path / "a.parquet").frame) == sorted(soils())
    labels = [f"r{place}" for place in range(N)]
    soils().set_axis(labels).to_parquet(tmp_path / "b.parquet")
    data = read_data_file(tmp_path / "b.parquet")
    assert data.notes == ["The names of rows are left out."]
    pd.testing.assert_frame_equal(data.frame, soils())


def test_an_index_named_as_a_column_is_refused(tmp_path):
    soils().set_index("soil", drop=False).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InputError, match="more than one column named 'soil'"):
        read_data_file(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["t.xlsx", "t.xlsm", "t.unknown"])
def test_excel_is_read(tmp_path, name):
    frame = soils().assign(day=pd.date_range("2020-01-01", periods=N), wet=[True, False] * 20)
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    (tmp_path / "t.xlsx").rename(tmp_path / name)
    data = read_data_file(tmp_path / name)
    pd.testing.assert_frame_equal(data.frame, frame, check_dtype=False)
    assert bool(data.notes) == (name == "t.unknown")


def write_sheets(path, **sheets):
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_sheets_are_chosen_by_name_or_number(tmp_path):
    path = tmp_path / "t.xlsx"
    write_sheets(path, first=[["a", "b"], [1, 2]], second=[["c", "d"], [3, 4]])
    data = read_data_file(path)
    assert list(data.frame) == ["a", "b"]
    assert data.notes == [
        "Read is the first of 2 sheets, 'first': pass --sheet for another, 'second'."
    ]
    assert list(read_data_file(path, sheet="second").frame) == ["c", "d"]
    assert list(read_data_file(path, sheet="2").frame) == ["c", "d"]
    with pytest.raises(InputError, match="Unknown --sheet 'secnd': did you mean 'second'"):
        read_data_file(path, sheet="secnd")


def test_titles_blank_rows_and_text_in_sheets_are_understood(tmp_path):
    path = tmp_path / "t.xlsx"
    rows = [["My study"], [], [None, "a ", "b", 2020, "when"]]
    rows += [[0, "1,5", " x ", 1, datetime.datetime(2020, 1, 1)], [], [1, "2,5", "NA", "n/a*"]]
    write_sheets(path, only=rows)
    data = read_data_file(path)
    assert list(data.frame) == ["a", "b", "2020", "when"]
    assert data.frame["a"].tolist() == [1.5, 2.5]
    assert data.frame["b"].isna().tolist() == [False, True]
    assert data.frame["2020"].tolist() == ["1", "n/a*"]
    assert data.frame["when"].isna().tolist() == [False, True]
    assert "The column names are taken from row 3 of the sheet." in data.notes


@pytest.mark.parametrize(
    ("rows", "message"),
    [([], "is empty"), ([["a"], [1]], "has one column only"), ([["a", "b"]], "but no rows")],
)
def test_a_sheet_without_a_table_is_refused(tmp_path, rows, message):
    write_sheets(tmp_path / "t.xlsx", only=rows)
    with pytest.raises(InputError, match=message):
        read_data_file(tmp_path / "t.xlsx")


def test_a_file_of_another_kind_than_its_name_says_is_read_with_a_note(tmp_path):
    soils().to_parquet(tmp_path / "t.csv")
    assert read_data_file(tmp_path / "t.csv").notes == [
        "'t.csv' is read as Parquet, which it is in spite of its name."
    ]


@pytest.mark.parametrize(
    ("name", "module"), [("t.parquet", "pyarrow"), ("t.feather", "pyarrow"), ("t.xlsx", "openpyxl")]
)
def test_what_is_not_installed_is_named(tmp_path, monkeypatch, name, module):
    writer = {"t.parquet": "to_parquet", "t.feather": "to_feather", "t.xlsx": "to_excel"}[name]
    getattr(soils(), writer)(tmp_path / name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"needs {module}: install umfi\[files\], or pass a"):
        read_data_file(tmp_path / name)


# ---------------------------------------------------------------- files that cannot be read


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"", "'a.csv' is empty: pass a file with column names and rows."),
        ("a.csv", b"\xef\xbb\xbf \n", "'a.csv' is empty: pass"),
        ("a.csv", b"# a comment", "'a.csv' is empty: pass"),
        ("a.csv.gz", gzip.compress(b" ", mtime=0), "'a.csv.gz' is empty: pass"),
        ("a.csv", b"a,b\n", "'a.csv' has column names but no rows."),
        (
            "a.csv",
            b"a\n1\n2\n",
            (
                "'a.csv' seems to have one column only: pass its delimiter as --delimiter, and let "
                "the first line, 'a', hold the column names."
            ),
        ),
        ("a.csv", b"Title, of a table\n1\n2\n3\n", "seems to have one column only"),
        ("a.csv", b"a,\n1,\n2,\n", "one column only"),
        (
            "a.csv",
            b"a,b\n1,2\n\n3,4,5\n",
            (
                "'a.csv' has 3 fields in line 4 but 2 column names: correct that line, quote what "
                "holds a delimiter, or pass --delimiter."
            ),
        ),
        ("a.csv", b'# x\na,b\n1,"2\n2"\n3,4,5\n', "has 3 fields in line 5 but 2 column names"),
        ("a.csv", b"temp,rain\n20,1,5\n21,2,5\n25,3,5\n", "has 3 fields in line 2 but 2"),
        (
            "a.csv",
            b"a,b\n1,2,3\n1,3,3\n",
            "has 3 fields in line 2 but 2 column names",
        ),
        (
            "a.csv",
            b"a,b,a , b\n1,2,3,4\n",
            (
                "'a.csv' has more than one column named 'a', 'b': rename the repeats, and see that "
                "the first line holds the names."
            ),
        ),
        ("a.csv", b"column 2,,b\n1,x,2\n3,x,4\n", "more than one column named 'column 2'"),
        (
            "a.csv",
            b'a,b\n1,2\n3,"4\n5,6\n',
            "'a.csv' has a quote in line 3 that is not closed: correct that line.",
        ),
        ("a.csv", b'a,b\n1,2\n3,"4\n' + b"5,6\n" * 40000, "has a quote in line 3 that is not"),
        ("a.csv", bytes(range(256)) * 9, "'a.csv' is no text and of no known kind: pass CSV,"),
        ("a", b"\x89PNG\r\n\x1a\n\0\0\0", "'a' is no text and of no known kind"),
        ("a.csv", b"a,b\n\x81,\x8d\n", "'a.csv' is neither UTF-8 nor Windows-1252: pass its"),
        ("a.csv", b"\xff\xfea\0,\0b\0\n\0\x00\xd8", "begins as UTF-16 but does not go on so: pass"),
        ("a.parquet", b"a,b\n1,2\n", "'a.parquet' is no Parquet file in spite of its name: rename"),
        ("a.xlsx", b"a,b\n1,2\n", "'a.xlsx' is no Excel file in spite of its name"),
        ("a.feather", b"a,b\n1,2\n", "'a.feather' is no Feather file in spite of its name"),
        ("a.parquet", b"PAR1 and rubbish", "'a.parquet' is broken or cut short: write or download"),
        ("a.feather", b"ARROW1 and rubbish", "'a.feather' is broken or cut short"),
        ("a.arrow", b"\xff\xff\xff\xff rubbish", "'a.arrow' is broken or cut short"),
        ("a.xlsx", zipped(b"", "xl/workbook.xml"), "'a.xlsx' is broken or cut short"),
        ("a.xlsx", b"PK\x03\x04 rubbish", "'a.xlsx' is broken or cut short"),
        ("a.gz", gzip.compress(b"a,b\n1,2\n" * 99, mtime=0)[:-20], "'a.gz' is broken or cut short"),
        ("a.xz", lzma.compress(b"a,b\n1,2\n" * 99)[:-20], "'a.xz' is broken or cut short"),
        ("a.bz2", bz2.compress(b"a,b\n1,2\n" * 99)[:-20], "'a.bz2' is broken or cut short"),
        ("a.zip", zipped(b"a", b=b"b"), "'a.zip' holds 2 files: unpack it and pass one of them."),
        ("a.zip", zipped(b" "), "'a.zip' is empty"),
        ("a.xls", b"\xd0\xcf\x11\xe0 old", "'a.xls' is an old or locked Excel file: save it as"),
        ("a.xlsx", b"\xd0\xcf\x11\xe0 locked", "'a.xlsx' is an old or locked Excel file"),
        ("a.json", b"{}", "'a.json' is of a kind that is not read, .json: save the table as .csv"),
        ("a.ods", b"PK\x03\x04", "'a.ods' is of a kind that is not read, .ods"),
        (
            "a.rds.gz",
            gzip.compress(b"X", mtime=0),
            "'a.rds.gz' is of a kind that is not read, .rds",
        ),
    ],
)
def test_a_file_that_cannot_be_read_is_told_in_a_sentence(read, name, content, message):
    with pytest.raises(InputError, match=re.escape(message)):
        read(content, name)


def test_a_locked_zip_is_reported(read):
    data = bytearray(zipped(b"a,b\n1,2\n"))
    data[6] |= 1  # The flags of the member say that it is encrypted, ...
    data[data.index(b"PK\x01\x02") + 8] |= 1  # ... and so does the list of members.
    with pytest.raises(InputError, match=r"'a\.zip' is locked by a password: unpack it first"):
        read(bytes(data), "a.zip")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"delimiter": ";"},
            "has one column only if ';' is the delimiter: its first line is 'a,b'",
        ),
        ({"delimiter": "::"}, "'::' is no delimiter: pass one character, or tab, comma"),
        ({"encoding": "klingon"}, "Unknown encoding 'klingon': pass one such as utf-8"),
        ({"encoding": "ascii"}, "is not written in ascii: pass its encoding as --encoding"),
        ({"sheet": "x"}, "--sheet is for Excel files and 'data.csv' is none: leave it out."),
    ],
)
def test_options_that_do_not_fit_the_file_are_refused(read, options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        read("a,b\n1,ä\n", **options)


@pytest.mark.parametrize("option", ["delimiter", "encoding"])
def test_options_of_text_are_refused_for_other_files(tmp_path, option):
    soils().to_parquet(tmp_path / "t.parquet")
    with pytest.raises(InputError, match=f"--{option} is for text files and 't.parquet' is none"):
        read_data_file(tmp_path / "t.parquet", **{option: ","})


def test_a_missing_file_is_told_with_near_names(write, tmp_path):
    write("a,b\n", "soil_2020.csv")
    for wanted in ("soil_2002.csv", "SOIL_2020.CSV", "soil_2020.parquet", "soil_2020"):
        with pytest.raises(InputError, match=r"There is no file .*did you mean 'soil_2020.csv'\?"):
            read_data_file(tmp_path / wanted)
    with pytest.raises(InputError, match=r"There is no file 'xyz' in .*: check the path"):
        read_data_file(tmp_path / "xyz")
    with pytest.raises(InputError, match=r"There is no folder .*nowhere'"):
        read_data_file(tmp_path / "nowhere" / "a.csv")


def test_folders_addresses_and_impossible_paths_are_reported(tmp_path):
    with pytest.raises(InputError, match="is a folder: pass a file in it"):
        read_data_file(tmp_path)
    with pytest.raises(InputError, match="is an address: download it"):
        read_data_file("https://example.org/a.csv")
    with pytest.raises(InputError, match=r"'a\\x00b' cannot be read"):
        read_data_file("a\0b")


def test_a_file_that_may_not_be_read_is_reported(write, monkeypatch):
    def refuse(path):
        raise PermissionError(13, "Permission denied")

    path = write("a,b\n1,2\n")
    monkeypatch.setattr("pathlib.Path.read_bytes", refuse)
    with pytest.raises(InputError, match=r"'data.csv' cannot be read \(Permission denied\)"):
        read_data_file(path)


# ---------------------------------------------------------------- cells


def test_numbers_are_told_from_text():
    for text in ("1", "-1.5e-3", "+.5", "1.", "1,5", ",5", "1.234,5", "1,234.5", "1.234.567"):
        assert is_number(text), text
    for text in ("", "-", ".", ",", "1-2", "<0.01", "12.05.2020", "1,2,3", "0x1", "1e", "nan"):
        assert not is_number(text), text


def test_half_numbers_are_no_column_of_numbers():
    assert find_stray(pd.Series(["1", "2", "a", "b"])) is None
    assert find_stray(pd.Series(["1", "2"])) is None


def test_dates_of_several_zones_are_dates():
    zone = datetime.timezone(datetime.timedelta(hours=2))
    moments = [datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)]
    moments.append(datetime.datetime(2020, 1, 1, tzinfo=zone))
    column = settle_objects(pd.Series(moments, dtype=object))
    assert column[0] - column[1] == pd.Timedelta(hours=2)


# ---------------------------------------------------------------- features and a response


def table(**columns):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {"x": rng.normal(size=N), "y": rng.choice(["a", "b"], N), **columns}, index=range(5, 5 + N)
    )


def note_of(data):
    assert len(data.notes) == 1
    return data.notes[0]


@pytest.mark.parametrize("missing", ["error", "drop", "level"])
def test_a_plain_table_is_left_as_it_is(missing):
    data = prepare(soils(), "yield", missing=missing)
    pd.testing.assert_frame_equal(data.X, soils().drop(columns="yield"))
    pd.testing.assert_series_equal(data.y, soils()["yield"])
    assert data.notes == []


def test_the_table_of_the_caller_is_not_changed():
    frame = typed().assign(
        note=[f"n{place}" for place in range(N)],
        text_date=pd.date_range("2020", periods=N).strftime("%d.%m.%Y"),
    )
    frame.loc[3, "yield"] = np.nan
    before = frame.copy(deep=True)
    data = prepare(frame, "yield", missing="level")
    data.X.iloc[:, 0] = 0.0
    data.y.iloc[:] = 0.0
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.parametrize("labels", [range(5, 5 + N), [0] * N])
def test_rows_without_a_response_are_left_out(labels):
    frame = table(y=[0, 1, None, 1] * (N // 4)).set_axis(labels)
    data = prepare(frame, "y")
    assert note_of(data) == "Left out for lack of a value of the target 'y': 10 of 40 rows."
    assert len(data.X) == len(data.y) == 30
    assert data.X.index.equals(data.y.index)
    assert data.y.dtype == np.int64  # and so may be labels of classes
    assert data.X["x"].tolist() == frame["x"][frame["y"].notna().to_numpy()].tolist()


def test_a_response_of_quantities_or_booleans_with_gaps_stays_that():
    quantities = prepare(table(y=[0.5, 1.0, None, 2.0] * (N // 4)), "y").y
    assert quantities.dtype == np.float64
    truths = prepare(table(y=[True, False, None, True] * (N // 4)), "y")
    assert read_table(truths.X, truths.y)[1].task == "classification"


@pytest.mark.parametrize(
    "form",
    [
        "%Y-%m-%d",
        "%Y/%m/%d",
        "%d.%m.%Y",
        "%m/%d/%Y",
        "%d/%m/%Y",
        "%d-%m-%Y",
        "%Y-%m-%dT%H:%M:%SZ",
        "%Y-%m-%d %H:%M",
        "%d.%m.%Y %H:%M",
        "%m/%d/%Y %H:%M:%S",
        None,
    ],
)
def test_dates_become_days(form):
    days = pd.Series(pd.date_range("2020-01-05", periods=N, freq="24h"), index=range(5, 5 + N))
    data = prepare(table(day=days if form is None else days.dt.strftime(form)), "y")
    assert data.X["day"].tolist() == list(range(N))
    assert data.X["day"].dtype == np.float64
    assert note_of(data) == (
        "Taken as days since the first date: 'day' (2020-01-05); --drop 'day' leaves it out."
    )


@pytest.mark.parametrize(
    "dates",
    [
        ["01/02/2020", "03/04/2020"],  # which of them is the month?
        ["13/02/2020", "02/13/2020"],
        ["2020-01-01", "soon"],
        ["2020-02-30", "2020-02-28"],
        ["01.02.2020", "01/02/2020"],
    ],
)
def test_dates_that_are_not_clear_stay_text(dates):
    data = prepare(table(day=dates * (N // 2)), "y")
    assert data.X["day"].tolist()[:2] == dates
    is_noted = all(date[-4:] == "2020" for date in dates)
    assert [note[:14] for note in data.notes] == ["Taken as text,"] * is_noted


def test_gaps_in_dates_stay_gaps():
    data = prepare(
        table(day=["2020-01-01", None, "2020-01-03", "2020-01-04"] * 10), "y", missing="drop"
    )
    assert data.X["day"].isna().sum() == 10
    assert data.X["day"].tolist()[2] == 2.0


def test_spans_and_periods_become_days():
    spans = pd.to_timedelta(np.arange(N) * 12, unit="h")
    months = pd.period_range("2020-01", periods=N, freq="M")
    data = prepare(table(span=spans, month=months), "y")
    assert data.X["span"].tolist()[:3] == [0.0, 0.5, 1.0]
    assert data.X["month"].tolist()[:3] == [0.0, 31.0, 60.0]
    assert data.notes[0] == "Taken as days: 'span'; --drop 'span' leaves it out."


@pytest.mark.parametrize(
    "name",
    [
        "id",
        "ID",
        "Id",
        "Sample.ID",
        "patient_id",
        "PatientID",
        "sampleid",
        "gauge_id",
        "index",
        "Proben Nr",
        "row names",
        "UUID",
    ],
)
def test_whole_numbers_named_as_identifiers_are_left_out(name):
    numbers = np.random.default_rng(0).choice(10_000, N, replace=False)
    data = prepare(table(**{name: numbers}), "y")
    assert name not in data.X
    assert note_of(data) == (
        f"Left out as row numbers: {name!r}; --kinds {name!r}=continuous keeps it."
    )


@pytest.mark.parametrize("name", ["humid", "paid", "grid", "NO", "ideal", "x"])
def test_whole_numbers_of_other_names_stay(name):
    numbers = np.random.default_rng(0).choice(10_000, N, replace=False)
    assert name in prepare(table(**{name: numbers}), "y").X


def test_numbers_that_count_rows_are_left_out_but_ranks_stay():
    ranks = np.random.default_rng(0).permutation(N)
    frame = table(counted=np.arange(7.0, 7.0 + N), rank=ranks, id=np.arange(N) // 2)
    frame.loc[9, "y"] = None
    data = prepare(frame, "y")
    assert list(data.X) == ["x", "rank", "id"]
    assert "'counted'" in data.notes[1]


def test_text_that_labels_rows_is_left_out():
    labels = [f"P{place}" for place in range(N)]
    frame = table(name=labels, other=pd.Categorical(labels), half=labels[: N // 2] * 2)
    data = prepare(frame, "y")
    assert list(data.X) == ["x", "half"]
    assert note_of(data) == LABELS_NOTE + "'name', 'other'."
    read_table(data.X, data.y)  # which draws the line at the same place


def test_text_that_is_almost_numbers_is_told_when_it_is_left_out():
    amounts = [f"{place / 7:.3f}" for place in range(N - 1)] + ["<0.01"]
    assert note_of(prepare(table(conc=amounts), "y")) == (
        "Left out as text with too many values, though most are numbers: 'conc' (such as "
        "'<0.01'); correct what is no number in the file."
    )


def test_empty_and_constant_columns_are_left_out():
    gappy = [1.0, None] * (N // 2)
    frame = table(e=np.nan, n=None, c=5, s="x", g=gappy)
    data = prepare(frame, "y")
    assert list(data.X) == ["x"]
    assert data.notes == [
        "Left out for having no value at all: 'e', 'n'.",
        "Left out for having one single value: 'c', 's', 'g'.",
    ]
    assert "g" in prepare(frame, "y", missing="level").X  # where the gaps are a second value


def test_columns_of_a_given_kind_are_neither_left_out_nor_converted():
    frame = table(id=np.arange(N), day=["2020-01-01", "2020-01-02"] * (N // 2), c=1)
    kinds = {"id": "continuous", "day": "categorical", "c": "continuous"}
    data = prepare(frame, "y", kinds=kinds)
    pd.testing.assert_frame_equal(data.X, frame.drop(columns="y"))
    assert data.notes == []
    assert [str(kind) for kind in read_table(data.X, data.y, kinds=kinds)[0].kinds[1:]] == list(
        kinds.values()
    )


def test_columns_are_dropped_by_name():
    frame = table(**{"a b": 1.0, "k": range(N)})
    assert list(prepare(frame, "y", drop=["a b", "k"]).X) == ["x"]
    assert list(prepare(frame, "y", drop="k").X) == ["x"]
    assert prepare(frame, "y", drop=["a b", "k"]).notes == []


def test_names_that_are_numbers_can_be_named():
    frame = table().set_axis([0, 1], axis=1)
    assert list(prepare(frame, "1").X) == ["0"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": "Yield"}, "Unknown column for --target 'Yield': did you mean 'yield'? Valid:"),
        ({"drop": ["sol"]}, "Unknown column for --drop 'sol': did you mean 'soil'?"),
        ({"kinds": {"sol": "ordinal"}}, "Unknown column for --kinds 'sol': did you mean 'soil'?"),
        ({"drop": ["yield"]}, "'yield' is the target: leave it out of --drop."),
        ({"kinds": {"yield": "ordinal"}}, "'yield' is the target: leave it out of --kinds."),
        (
            {"drop": ["soil"], "kinds": {"soil": "ordinal"}},
            "--drop and --kinds both name 'soil': leave it out of one.",
        ),
        ({"missing": "levels"}, "Unknown value for --missing 'levels': did you mean 'level'?"),
        (
            {"drop": ["soil", "count", "größe m"]},
            "No feature is left beside the target 'yield'.",
        ),
    ],
)
def test_names_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=re.escape(message)):
        prepare(soils(), **{"target": "yield", **options})


def test_a_table_without_features_tells_why():
    frame = table(id=range(N)).drop(columns="x")
    with pytest.raises(InputError, match=r"No feature is left .*'y'\. Left out as row numbers"):
        prepare(frame, "y")


def test_a_response_without_a_value_is_refused():
    with pytest.raises(InputError, match="target 'y' has no value at all: choose another with"):
        prepare(table(y=None), "y")


def test_repeated_names_are_refused():
    with pytest.raises(InputError, match="more than one column named 'x'"):
        prepare(pd.concat([table(), table()], axis=1)[["x", "y"]].iloc[:, [0, 1, 2]], "y")


@pytest.mark.parametrize("option", ["feature", "target"])
def test_python_objects_are_refused_by_name(option):
    frame = table(lists=[[1, 2]] * N)
    with pytest.raises(InputError, match=r"Column 'lists' holds values such as \[1, 2\]: turn it"):
        prepare(frame, "y" if option == "feature" else "lists")
    with pytest.raises(InputError, match=r"such as \[0, 1, .*\.\.\.: turn it into numbers or text"):
        prepare(table(lists=[list(range(99))] * N), "y")


def gaps(n_rows, n_gaps):
    return [None if place < n_gaps else place % 7 + 0.5 for place in range(n_rows)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"ph": 12, "soil": 3, "sand": 1},
            (
                "12 of 40 rows have missing values, most in 'ph' (12) and 'soil' (3): pass "
                "--missing drop to leave these rows out, or --missing level to take 'missing' as a "
                "value of its own."
            ),
        ),
        ({"soil": 3, "ph": 12}, "12 of 40 rows have missing values, in 'ph' (12) and 'soil' (3):"),
        ({"ph": 1}, "1 of 40 rows have missing values, all in 'ph': pass --missing drop"),
        (
            {"ph": 35},
            (
                "35 of 40 rows have missing values, all in 'ph': pass --missing level to take "
                "'missing' as a value of its own, or --drop to leave such columns out."
            ),
        ),
    ],
)
def test_missing_values_are_told_with_the_way_out(columns, message):
    frame = table(**{name: gaps(N, n_gaps) for name, n_gaps in columns.items()})
    with pytest.raises(InputError, match=re.escape(message)):
        prepare(frame, "y")
    for missing in ("drop", "level"):
        assert prepare(frame, "y", missing=missing).X["ph"].isna().sum() == columns["ph"]


def test_names_of_any_letters_are_quoted_in_notes():
    names = ["a b", "it's", 'say "x"', "ä\n", "{0}", "%s"]
    note = note_of(prepare(table(**dict.fromkeys(names, 1)), "y"))
    assert note == "Left out for having one single value: " + ", ".join(map(repr, names)) + "."


def test_row_numbers_with_gaps_are_row_numbers_and_measures_are_not():
    numbers = [number for number in range(1, N + 4) if number not in (5, 9, 12)]
    assert list(prepare(table(run=numbers, size=range(N)), "y", kinds={"size": "continuous"}).X)
    data = prepare(table(run=numbers), "y")
    assert "run" not in data.X
    assert "Left out as row numbers: 'run'" in data.notes[0]
    wide = prepare(table(run=[3 * number for number in range(N)]), "y")
    assert "run" in wide.X


def test_signs_of_per_cent_are_no_text():
    given = pd.DataFrame({"share": ["4.4%", "12 %", "-"], "word": ["a%", "b%", "c"]})
    frame, notes = tidy_columns(given, with_commas=False)
    assert frame["share"].tolist()[:2] == [4.4, 12.0]
    assert frame["share"].isna().tolist() == [False, False, True]
    assert frame["word"].tolist() == ["a%", "b%", "c"]
    assert "Signs of per cent are left out in 'share'." in notes


def test_a_target_of_dates_is_refused():
    dates = pd.date_range("2020-01-01", periods=N).astype(str)
    with pytest.raises(InputError, match="holds dates: choose another"):
        prepare(table(day=dates), "day")
