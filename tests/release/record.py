"""Checks a wheel's RECORD as the binary distribution format asks: every member, its hash and its size. record.py WHEEL"""

import base64
import csv
import hashlib
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    assert wheel.testzip() is None
    names = wheel.namelist()
    [record] = [name for name in names if name.endswith(".dist-info/RECORD")]
    rows = list(csv.reader(wheel.read(record).decode().splitlines()))
    assert sorted(row[0] for row in rows) == sorted(names), "RECORD and members differ"
    for name, digest, size in rows:
        if name == record:
            assert (digest, size) == ("", "")
            continue
        data = wheel.read(name)
        expected = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert digest == f"sha256={expected}" and int(size) == len(data), name
    assert any(name.endswith(".dist-info/sboms/sbom.spdx.json") for name in names)
