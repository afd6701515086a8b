#!/usr/bin/env python3
"""Damages store files, in memory, and reads them with graph_reader.

    damage.py COUNT SEED FILE ...
    damage.py forge COUNT SEED FILE FOLDER

COUNT times each: one bit is flipped; the file is cut; a payload is changed and all checksums are made right. A file with a
flipped bit or a cut must be refused, or be read as it was after one of its records, and nothing but the headers and what is
behind the last acknowledged record may be damaged then. A changed payload may mean anything. Nothing may end in another error
or take longer than ten seconds.

The second form writes files with changed payloads into a folder, for another reader to try: 0.graph, 1.graph and so on, and
beside those that graph_reader takes what it reads, 0.jsonl.
"""

import hashlib
import random
import signal
import struct
import sys

from graph_reader import (HEADER_LENGTH, RECORD_HEADER_LENGTH, RECORD_MAGIC, Header, Record, Refused, StoreFile, crc32c)


class Original:
    """A file without damage: its records, and what was in it after each commit and each schema."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = file.read()
        self.states = []
        self.store = StoreFile(self.data, after_change=lambda state, schema: self.note(state, schema))
        self.lines = self.store.lines()
        self.records = []
        offset = 2 * HEADER_LENGTH
        while record := Record.at(offset, self.data, self.store.header.salt):
            self.records.append((record, record.payload(self.data)))
            offset = record.end
        self.end = offset
        # What a later record says is durable.
        self.durable = max(record.durable_through for record, _ in self.records)
        self.durable_end = self.records[self.durable - 1][0].end

    def note(self, state, schema):
        self.states.append(list(state.lines(schema)))

    def check(self, damaged, first):
        """Reads a file that is damaged from this byte on, and returns what became of it."""
        try:
            store = StoreFile(damaged)
            lines = store.lines()
        except Refused:
            return "refused"
        if first < 2 * HEADER_LENGTH or first >= self.end:
            expect(lines == self.lines, "damage outside of the records changed what was read")
            return "whole"
        expect(first >= self.durable_end, "damage to a durable record was not found")
        expect(lines in self.states or len(lines) == 1, "what was read was never saved")
        return "whole" if lines == self.lines else "a prefix"

    def forged(self, chance):
        """The file with a changed payload and right checksums."""
        records = list(self.records)
        number = chance.randrange(len(records))
        record, payload = records[number]
        records[number] = (record, changed(payload, chance))
        header = bytearray(self.data[:HEADER_LENGTH])
        header[88:120] = hashlib.sha256(records[0][1]).digest()
        struct.pack_into("<I", header, HEADER_LENGTH - 4, crc32c(header[:HEADER_LENGTH - 4]))
        data = header + header
        chain = Header(bytes(data)).checksum
        for record, payload in records:
            numbers = (len(payload), record.sequence, record.durable_through, chain)
            frame = struct.pack("<BBHIQQI", record.kind, 0, 0, *numbers)
            checksum = crc32c(frame, self.store.header.salt)
            chain = crc32c(payload, checksum)
            data += RECORD_MAGIC + struct.pack("<I", checksum) + frame + struct.pack("<I", chain) + payload
            data += bytes(-len(data) % 8)
        return bytes(data)


def changed(payload, chance):
    data = bytearray(payload)
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        at = chance.randrange(len(data) + 1)
        likely = (0, 1, 2, 127, 128, 255, chance.randrange(256))
        some = bytes(chance.choice(likely) for _ in range(chance.choice((1, 2, 10))))
        end = at + chance.choice((0, 1, len(some)))
        data[at:end] = chance.choice((some, b"", some[:end - at]))
    return bytes(data)


def expect(condition, text):
    if not condition:
        raise AssertionError(text)


def late(signal_number, frame):
    raise TimeoutError("more than ten seconds")


def run(count, chance, path):
    original = Original(path)
    outcomes = {}

    def note(kind, damaged, first, check):
        signal.setitimer(signal.ITIMER_REAL, 10)
        try:
            outcome = kind + ": " + check(damaged, first)
        except Exception as error:
            raise AssertionError(f"{path}: {kind} at {first}: {error!r}") from error
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1

    def read(damaged, _):
        try:
            StoreFile(damaged).lines()
        except Refused:
            return "refused"
        return "read"

    for _ in range(count):
        at = chance.randrange(len(original.data))
        damaged = bytearray(original.data)
        damaged[at] ^= 1 << chance.randrange(8)
        note("bit", bytes(damaged), at, original.check)
        # Half of the cuts are near the end, where there are cuts that can be read.
        least = 0 if chance.randrange(2) else max(original.durable_end - 64, 0)
        at = chance.randrange(least, len(original.data))
        note("cut", original.data[:at], at, cut_check(original))
        note("forgery", original.forged(chance), None, read)
    return outcomes


def cut_check(original):
    """A file that was cut has no later record to say that something is lost: what is left is read."""
    def check(damaged, first):
        try:
            lines = StoreFile(damaged).lines()
        except Refused:
            return "refused"
        expect(lines in original.states or len(lines) == 1, "what was read was never saved")
        return "whole" if lines == original.lines else "a prefix"
    return check


def forge(count, chance, path, folder):
    original = Original(path)
    for number in range(count):
        data = original.forged(chance)
        with open(f"{folder}/{number}.graph", "wb") as file:
            file.write(data)
        try:
            text = "".join(line + "\n" for line in StoreFile(data).lines())
        except Refused:
            continue
        with open(f"{folder}/{number}.jsonl", "wb") as file:
            file.write(text.encode("utf-8"))


def main(arguments):
    if arguments[0] == "forge":
        forge(int(arguments[1]), random.Random(int(arguments[2])), *arguments[3:])
        return
    signal.signal(signal.SIGALRM, late)
    count, seed, paths = int(arguments[0]), int(arguments[1]), arguments[2:]
    for path in paths:
        outcomes = run(count, random.Random(seed), path)
        print(path.rpartition("/")[2], ", ".join(f"{name} {outcomes[name]}" for name in sorted(outcomes)))


if __name__ == "__main__":
    main(sys.argv[1:])
