#!/usr/bin/env python3
"""Prints what a store file of Graph holds: the newest state, as lines of JSON.

    graph_reader.py library.graph

Written from Docs/Design/JournalFormat.md alone, so that the page says all that a reader needs. The lines are those of
Tests/GraphTests/Evolution/Golden/README.md: the commit, then each row by entity and number.

The file is only read, and not locked. A file that is damaged, or that breaks a rule of the page, ends the program with
status 1 and one line on the standard error; an unfinished write at the end of the file is left out. The rules that a state
has to keep (unique values, inverses, counts) are checked on the newest one.

Every loop is bounded by the bytes that are left: a count of elements is refused if it is larger.
"""

import hashlib
import json
import os
import re
import struct
import sys
import unicodedata

HEADER_LENGTH = 4096
RECORD_HEADER_LENGTH = 40
MAGIC = bytes.fromhex("894752460D0A1A0A")
RECORD_MAGIC = bytes.fromhex("E747524A")
END_MAGIC = bytes.fromhex("E7475245")
PAYLOAD_LIMIT = 256 << 20
TAIL_LIMIT = 512 << 20
NUMBER_LIMIT = 1 << 62
DEEPEST_KIND = 32
DEEPEST_CBOR = 32
MOST_EARLIER = 1000

SCHEMA, COMMIT, PART, PART_END, CLOSE, MARK, CONSUMER = 1, 2, 3, 4, 5, 6, 7
CHECKPOINT_FEATURE = 1


class Refused(Exception):
    """The file cannot be read; the text says why."""


# Checksums


def _table():
    table = []
    for value in range(256):
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 if value & 1 else 0)
        table.append(value)
    return table


_TABLE = _table()


def crc32c(data, seed=0):
    """CRC32C (Castagnoli), which continues the checksum `seed`."""
    table = _TABLE
    crc = seed ^ 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


# Bytes


class Reader:
    """Takes a payload apart from its beginning."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    @property
    def left(self):
        return len(self.data) - self.at

    def take(self, count):
        if count > self.left:
            raise Refused(f"{count} bytes at {self.at}, where {self.left} are left")
        self.at += count
        return self.data[self.at - count:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        """A minimal LEB128 number of at most 64 bits."""
        result = shift = 0
        while True:
            byte = self.byte()
            result |= (byte & 0x7F) << shift
            if byte < 0x80:
                if byte == 0 and shift:
                    raise Refused("a number that is longer than it has to be")
                if result >= 1 << 64:
                    raise Refused("a number of more than 64 bits")
                return result
            shift += 7
            if shift >= 70:
                raise Refused("a number of more than 64 bits")

    def signed(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def fixed(self, length, signed=False):
        return int.from_bytes(self.take(length), "little", signed=signed)

    def count(self, least=1):
        """How many elements follow, each of which takes so many bytes at least."""
        count = self.varint()
        if count * least > self.left:
            raise Refused(f"{count} elements, where {self.left} bytes are left")
        return count

    def string(self):
        data = self.take(self.count())
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("a string that is not UTF-8") from None

    def ascending(self, last, step=1):
        """A number as its distance to the one before, which is at least `step`."""
        distance = self.varint()
        if distance < step or last + distance > NUMBER_LIMIT:
            raise Refused("numbers that do not ascend, or are too large")
        return last + distance

    def finish(self):
        if self.left:
            raise Refused(f"{self.left} bytes are left over")


# Values, each of which is decoded to its text in JSON


def quoted(text):
    parts = []
    for character in text:
        if character in '"\\':
            parts.append("\\" + character)
        elif character < " ":
            parts.append(f"\\u00{ord(character):02x}")
        else:
            parts.append(character)
    return '"' + "".join(parts) + '"'


def array(elements):
    return "[" + ",".join(elements) + "]"


def by_bytes(texts):
    return sorted(texts, key=lambda text: text.encode("utf-8"))


def json_object(pairs):
    return "{" + ",".join(by_bytes(quoted(name) + ":" + text for name, text in pairs)) + "}"


class CBOR:
    """A value in CBOR under the deterministic requirements, as text."""

    def __init__(self, reader):
        self.reader = reader

    def argument(self, info):
        if info < 24:
            return info
        if info > 27:
            raise Refused("CBOR with an indefinite length or an undefined form")
        value = int.from_bytes(self.reader.take(1 << (info - 24)), "big")
        if value < (24, 1 << 8, 1 << 16, 1 << 32)[info - 24]:
            raise Refused("a CBOR number that is longer than it has to be")
        return value

    def text(self, length):
        try:
            return self.reader.take(length).decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("a CBOR text that is not UTF-8") from None

    def value(self, depth=0):
        initial = self.reader.byte()
        major, info = initial >> 5, initial & 31
        if major == 7:
            return self.simple(info)
        argument = self.argument(info)
        if major == 0:
            return str(argument)
        if major == 1:
            return str(-1 - argument)
        if major == 2:
            return quoted(self.reader.take(argument).hex())
        if major == 3:
            return quoted(self.text(argument))
        if major == 6:
            return self.bignum(argument)
        if depth == DEEPEST_CBOR:
            raise Refused("CBOR that is nested too deep")
        if argument * (1 if major == 4 else 2) > self.reader.left:
            raise Refused("more CBOR elements than bytes")
        if major == 4:
            return array([self.value(depth + 1) for _ in range(argument)])
        return self.map(argument, depth)

    def map(self, count, depth):
        pairs, last = [], None
        for _ in range(count):
            start = self.reader.at
            initial = self.reader.byte()
            if initial >> 5 != 3:
                raise Refused("a CBOR key that is not a text")
            name = self.text(self.argument(initial & 31))
            key = self.reader.data[start:self.reader.at]
            if last is not None and key <= last:
                raise Refused("CBOR keys that do not ascend")
            last = key
            pairs.append((name, self.value(depth + 1)))
        return json_object(pairs)

    def bignum(self, tag):
        initial = self.reader.byte()
        if tag not in (2, 3) or initial >> 5 != 2:
            raise Refused("an unknown CBOR tag")
        data = self.reader.take(self.argument(initial & 31))
        if not 9 <= len(data) <= 16 or data[0] == 0:
            raise Refused("a CBOR number that is longer than it has to be")
        number = int.from_bytes(data, "big")
        return str(number if tag == 2 else -1 - number)

    def simple(self, info):
        if info in (20, 21, 22):
            return ("false", "true", "null")[info - 20]
        if info not in (25, 26, 27):
            raise Refused("an undefined CBOR value")
        width = 2 << (info - 25)
        bits = widened(int.from_bytes(self.reader.take(width), "big"), width)
        if width > 2 and fits(bits, width // 2):
            raise Refused("a CBOR number that is longer than it has to be")
        return quoted(f"{bits:016x}")


# Sizes of exponent and fraction.
FLOATS = {2: (5, 10), 4: (8, 23), 8: (11, 52)}


def widened(bits, width):
    """The bits of the same value as a Double; a NaN keeps sign and payload."""
    exponent_size, fraction_size = FLOATS[width]
    sign = bits >> (exponent_size + fraction_size)
    exponent = (bits >> fraction_size) & ((1 << exponent_size) - 1)
    fraction = bits & ((1 << fraction_size) - 1)
    bias = (1 << (exponent_size - 1)) - 1
    if exponent == (1 << exponent_size) - 1:
        exponent = 2047
    elif exponent:
        exponent += 1023 - bias
    elif fraction:
        # A number without the leading bit: in a Double it has one.
        if width == 8:
            return bits
        shift = fraction_size + 1 - fraction.bit_length()
        fraction = (fraction << shift) & ((1 << fraction_size) - 1)
        exponent = 1 + 1023 - bias - shift
    return sign << 63 | exponent << 52 | fraction << (52 - fraction_size)


def fits(bits, width):
    """Whether some float of this width has the value of these bits of a Double."""
    exponent_size, fraction_size = FLOATS[width]
    sign, exponent, fraction = bits >> 63, (bits >> 52) & 2047, bits & ((1 << 52) - 1)
    bias = (1 << (exponent_size - 1)) - 1
    if exponent == 2047:
        return fraction % (1 << (52 - fraction_size)) == 0
    if exponent == 0 and fraction == 0:
        return True
    narrow = exponent - 1023 + bias
    if exponent == 0 or narrow >= (1 << exponent_size) - 1:
        return False
    # Below the normal numbers one bit less is left with each step.
    spare = 52 - fraction_size + (0 if narrow > 0 else 1 - narrow)
    whole = fraction | 1 << 52
    return spare <= 52 and whole % (1 << spare) == 0 if narrow <= 0 else fraction % (1 << spare) == 0


class Kind:
    """How the values of an attribute are stored, by the schema's name for it."""

    SIGNED = {"int": 64, "int8": 8, "int16": 16, "int32": 32, "int64": 64}
    UNSIGNED = {"uint": 64, "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64}
    PLAIN = {
        "int128", "uint128", "bool", "float", "double", "date", "string", "decimal", "uuid", "data", "bytes", "url",
        "codable"
    } | set(SIGNED) | set(UNSIGNED)

    WITHOUT_ORDER = {"decimal", "bytes", "url", "codable", "array", "set", "dictionary"}

    def __init__(self, name, inner=()):
        self.name = name
        self.inner = inner

    @property
    def is_ordered(self):
        """Whether it may be unique or indexed."""
        return self.inner[0].is_ordered if self.name == "optional" else self.name not in self.WITHOUT_ORDER

    @classmethod
    def parse(cls, text):
        kind, rest = cls.beginning(text, 0)
        if rest:
            raise Refused(f"the schema has a kind {text[:80]!r}")
        return kind

    @classmethod
    def beginning(cls, text, depth):
        end = 0
        while end < len(text) and (text[end].isalnum() or text[end] == "-"):
            end += 1
        name, rest = text[:end], text[end:]
        if name in cls.PLAIN:
            return cls(name), rest
        inner = []
        count = {"optional": 1, "array": 1, "set": 1, "dictionary": 2}.get(name)
        if count is None or depth == DEEPEST_KIND:
            raise Refused(f"the schema has a kind {text[:80]!r}")
        for number in range(count):
            opening = "(" if number == 0 else ", "
            if not rest.startswith(opening):
                raise Refused(f"the schema has a kind {text[:80]!r}")
            kind, rest = cls.beginning(rest[len(opening):], depth + 1)
            inner.append(kind)
        if not rest.startswith(")"):
            raise Refused(f"the schema has a kind {text[:80]!r}")
        return cls(name, tuple(inner)), rest[1:]

    def read(self, reader):
        """The next value as text."""
        return getattr(self, "read_" + self.name, self.read_number)(reader)

    def bytes_and_text(self, reader):
        start = reader.at
        text = self.read(reader)
        return reader.data[start:reader.at], text

    def read_number(self, reader):
        bits = self.SIGNED.get(self.name)
        if bits:
            value = reader.signed()
            if not -(1 << (bits - 1)) <= value < 1 << (bits - 1):
                raise Refused(f"a number that does not fit {self.name}")
        else:
            value = reader.varint()
            if value >= 1 << self.UNSIGNED[self.name]:
                raise Refused(f"a number that does not fit {self.name}")
        return str(value)

    def read_int128(self, reader):
        return str(reader.fixed(16, signed=True))

    def read_uint128(self, reader):
        return str(reader.fixed(16))

    def read_bool(self, reader):
        byte = reader.byte()
        if byte > 1:
            raise Refused("a Boolean that is neither 0 nor 1")
        return ("false", "true")[byte]

    def read_float(self, reader):
        return quoted(f"{reader.fixed(4):08x}")

    def read_double(self, reader):
        return quoted(f"{reader.fixed(8):016x}")

    read_date = read_double

    def read_string(self, reader):
        return quoted(reader.string())

    read_decimal = read_string

    def read_uuid(self, reader):
        digits = reader.take(16).hex().upper()
        return quoted("-".join([digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]]))

    def read_data(self, reader):
        return quoted(reader.take(reader.count()).hex())

    read_bytes = read_data

    def read_url(self, reader):
        return array([quoted(reader.string()), quoted(reader.string())])

    def read_optional(self, reader):
        byte = reader.byte()
        if byte > 1:
            raise Refused("an optional that is neither 0 nor 1")
        return self.inner[0].read(reader) if byte else "null"

    def read_array(self, reader):
        return array([self.inner[0].read(reader) for _ in range(reader.count())])

    def read_set(self, reader):
        return self.read_ascending(reader, lambda texts: texts[0])

    def read_dictionary(self, reader):
        return self.read_ascending(reader, array)

    def read_ascending(self, reader, text):
        elements, last = [], b""
        for _ in range(reader.count()):
            start = reader.at
            elements.append(text([kind.read(reader) for kind in self.inner]))
            element = reader.data[start:reader.at]
            if element < last:
                raise Refused(f"a {self.name} whose elements do not ascend")
            last = element
        return array(by_bytes(elements))

    def read_codable(self, reader):
        data = reader.take(reader.count())
        if not data:
            raise Refused("an empty value")
        if data[0] == 1:
            value = Reader(data[1:])
            text = CBOR(value).value()
            value.finish()
            return text
        try:
            value = json.loads(data.decode("utf-8"))
            text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
            text.encode("utf-8")
            return text
        except (ValueError, RecursionError):
            raise Refused("a value that is neither CBOR nor JSON") from None


# The schema


class Property:
    def __init__(self, tag, name, words, text):
        self.tag, self.name = tag, name
        self.kind = self.target = self.inverse = None
        self.is_unique = self.is_ordered = self.is_to_one = self.is_to_many = False
        self.minimum, self.maximum = 0, None
        if words[0] in ("to-one", "to-many"):
            self.is_to_one = words[0] == "to-one"
            self.is_to_many = not self.is_to_one
            self.parse_relationship(words[1:], text)
        else:
            is_indexed = False
            for ending in (" unique", " indexed"):
                if text.endswith(ending):
                    is_indexed, self.is_unique = True, ending == " unique"
                    text = text[:-len(ending)]
                    break
            self.kind, self.kind_text = Kind.parse(text), text
            if is_indexed and not self.kind.is_ordered:
                raise Refused("the schema has an index of values without an order")

    def parse_relationship(self, words, text):
        words = list(words)
        try:
            self.target = decimal(words.pop(0))
            if self.is_to_many:
                self.inverse = decimal(words.pop(0))
            if words.pop(0) not in ("nullify", "cascade", "deny"):
                raise Refused(f"the schema has {text[:80]!r}")
            if self.is_to_many and words[:1] == ["ordered"]:
                self.is_ordered = bool(words.pop(0))
            if self.is_to_one and words[:1] == ["inverse"]:
                words.pop(0)
                self.inverse = decimal(words.pop(0))
            if words[:1] == ["minimum"]:
                words.pop(0)
                self.minimum = decimal(words.pop(0))
                if self.minimum == 0:
                    raise Refused(f"the schema has {text[:80]!r}")
            if words[:1] == ["maximum"]:
                words.pop(0)
                self.maximum = decimal(words.pop(0))
        except IndexError:
            words = ["missing"]
        most = 1 if self.is_to_one else NUMBER_LIMIT
        are_possible = self.minimum <= most and (
            self.maximum is None or (self.is_to_many and self.maximum >= max(self.minimum, 1)))
        if words or not are_possible:
            raise Refused(f"the schema has {text[:80]!r}")

    @property
    def is_stored(self):
        return not self.is_to_many

    @property
    def shape(self):
        """What the records of commits depend on."""
        if self.kind:
            return self.kind_text
        return self.is_to_one, self.target, self.inverse, self.is_ordered

    def bytes_and_text(self, reader):
        if self.kind:
            return self.kind.bytes_and_text(reader)
        start = reader.at
        row = reader.varint()
        return reader.data[start:reader.at], str(row) if row else "null"


class Entity:
    def __init__(self, tag, name, ending):
        self.tag, self.name = tag, name
        self.properties = []
        # Those that rows have, once all are known.
        self.stored = []
        # Each is the tags of properties whose values are unique together, or have an index.
        self.compounds, self.indexes = [], []
        is_unique = False
        for word in ending:
            if word in ("unique", "index"):
                is_unique = word == "unique"
                current = []
                (self.compounds if is_unique else self.indexes).append(current)
            elif ending[0] in ("unique", "index"):
                current.append(decimal(word))
            else:
                raise Refused("the schema has an entity with an unknown ending")

    def tagged(self, tag):
        if not 1 <= tag <= len(self.properties):
            raise Refused(f"{self.name} has no property {tag}")
        return self.properties[tag - 1]


def require_different(named):
    """Entities, or properties of one entity: texts that Swift takes for equal are one name."""
    names = {unicodedata.normalize("NFC", each.name) for each in named}
    if len(names) < len(named) or "" in names:
        raise Refused("the schema has a name twice, or an empty one")


def decimal(word):
    if not (word.isascii() and word.isdigit()) or len(word) > 19 or (word[0] == "0" and word != "0"):
        raise Refused(f"the schema has {word[:80]!r} for a number")
    return int(word)


ESCAPED = {"0": "\0", "n": "\n", "r": "\r", "t": "\t", '"': '"', "'": "'", "\\": "\\"}


def unescaped(name):
    """A name as Swift writes literals."""
    parts = name.split("\\")
    result, rest = parts[0], iter(parts[1:])
    for part in rest:
        if part.startswith("u{") and "}" in part:
            digits, _, part = part[2:].partition("}")
            if not 1 <= len(digits) <= 8 or set(digits) - set("0123456789abcdefABCDEF"):
                raise Refused("the schema has a name with an unknown escape")
            number = int(digits, 16)
            if number > 0x10FFFF or 0xD800 <= number < 0xE000:
                raise Refused("the schema has a name with an unknown escape")
            result += chr(number) + part
        elif part == "":
            result += "\\" + next(rest, "")
        elif part[0] in ESCAPED:
            result += ESCAPED[part[0]] + part[1:]
        else:
            raise Refused("the schema has a name with an unknown escape")
    return result


class Schema:
    TITLE = "graph schema 1"

    def __init__(self, payload):
        try:
            text = payload.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("the schema is not UTF-8") from None
        lines = text.split("\n")
        if lines[0] != self.TITLE or lines[-1] != "":
            raise Refused("the schema does not begin or end as one")
        self.entities = []
        # The fingerprints of schemas that the file had before.
        self.earlier = []
        self.version = None
        self.metadata = {}
        for line in lines[1:-1]:
            if line.startswith("earlier "):
                self.parse_earlier(line)
            elif self.earlier or self.version is not None:
                raise Refused("the schema has a line behind those of its version and of earlier ones")
            elif line.startswith("version "):
                quoted = line[len("version "):]
                if len(quoted) < 3 or quoted[0] != '"' or quoted[-1] != '"':
                    raise Refused(f"the schema has a line {line[:80]!r}")
                self.version = unescaped(quoted[1:-1])
            elif line.startswith("metadata "):
                self.parse_metadata(line)
            elif self.metadata:
                raise Refused("the schema has a line behind those of the metadata")
            else:
                self.parse(line)
        if len(self.earlier) > MOST_EARLIER:
            raise Refused("the schema has too many earlier ones")
        self.check()
        self.lists = [(entity, property) for entity in self.entities for property in entity.properties
                      if property.is_to_many and self.has_list(entity, property)]

    def parse(self, line):
        first, quote, rest = line.partition(' "')
        name, end, ending = rest.rpartition('"')
        words = first.split(" ")
        if not quote or not end or len(words) != 2 or words[0] not in ("entity", "property"):
            raise Refused(f"the schema has a line {line[:80]!r}")
        tag = decimal(words[1])
        if ending and not ending.startswith(" "):
            raise Refused(f"the schema has a line {line[:80]!r}")
        text = ending[1:]
        if words[0] == "entity":
            siblings = self.entities
            made = Entity(tag, name, text.split(" ") if text else [])
        else:
            if not self.entities:
                raise Refused("the schema has a property without an entity")
            siblings = self.entities[-1].properties
            made = Property(tag, name, text.split(" "), text)
        made.name = unescaped(name)
        siblings.append(made)
        if tag != len(siblings):
            raise Refused(f"the schema's numbers do not ascend in the line {line[:80]!r}")

    def parse_metadata(self, line):
        found = re.fullmatch(r'metadata "((?:[^"\\]|\\.)+)" "((?:[^"\\]|\\.)*)"', line)
        if not found:
            raise Refused(f"the schema has a line {line[:80]!r}")
        key = unescaped(found[1])
        if any(unicodedata.normalize("NFC", key) == unicodedata.normalize("NFC", other) for other in self.metadata):
            raise Refused("the schema has a key of the metadata twice")
        self.metadata[key] = unescaped(found[2])

    def parse_earlier(self, line):
        fingerprint = line[len("earlier "):]
        if len(fingerprint) != 64 or set(fingerprint) - set("0123456789abcdef"):
            raise Refused(f"the schema has a line {line[:80]!r}")
        self.earlier.append(fingerprint)

    @property
    def shape(self):
        """What all schemas of a file have in common."""
        return [[each.shape for each in entity.properties] for entity in self.entities]

    def entity(self, tag):
        if not 1 <= tag <= len(self.entities):
            raise Refused(f"there is no entity {tag}")
        return self.entities[tag - 1]

    def check(self):
        inverses = set()
        require_different(self.entities)
        for entity in self.entities:
            entity.stored = [property for property in entity.properties if property.is_stored]
            require_different(entity.properties)
            for tags in entity.compounds + entity.indexes:
                properties = [entity.tagged(tag) for tag in tags]
                if not tags or len(set(tags)) < len(tags) or any(each.is_to_many for each in properties):
                    raise Refused("the schema has a constraint or an index on what is not stored")
                if any(each.kind and not each.kind.is_ordered for each in properties):
                    raise Refused("the schema has an index of values without an order")
            for property in entity.properties:
                if property.target is None:
                    continue
                target = self.entity(property.target)
                if property.inverse is None:
                    continue
                inverse = target.tagged(property.inverse)
                if inverse.target != entity.tag or (property.is_to_one and not inverse.is_to_one):
                    raise Refused(f"{entity.name}.{property.name} and its inverse do not fit")
                # Only a to-one relationship with a to-many one for its inverse does not name it.
                is_named = property.is_to_one or inverse.is_to_many
                if inverse.inverse != (property.tag if is_named else None):
                    raise Refused(f"{entity.name}.{property.name} is not the inverse of its inverse")
                if (property.target, property.inverse) in inverses:
                    raise Refused(f"{entity.name}.{property.name} has the inverse of another relationship")
                inverses.add((property.target, property.inverse))

    def inverse(self, property):
        return self.entity(property.target).tagged(property.inverse)

    def has_list(self, entity, property):
        if property.is_ordered:
            return True
        if self.inverse(property).is_to_one:
            return False
        return (entity.tag, property.tag) <= (property.target, property.inverse)


# The state


class State:
    """The rows and links after some records."""

    def __init__(self, schema):
        self.schema = schema
        self.commit = 0
        self.counters = {entity.tag: 1 for entity in schema.entities}
        # By entity and row: the version, and by property the bytes and the text of the value.
        self.rows = {entity.tag: {} for entity in schema.entities}
        # By list, that is entity and property: owner and member, and the key.
        self.links = {(entity.tag, property.tag): {} for entity, property in schema.lists}

    def read_counters(self, reader):
        for _ in range(reader.count(2)):
            entity, counter = self.schema.entity(reader.varint()), reader.varint()
            if counter > NUMBER_LIMIT:
                raise Refused("a counter that falls or is too large")
            self.counters[entity.tag] = max(self.counters[entity.tag], counter)

    # Commits

    def read_commit(self, payload):
        reader = Reader(payload)
        number = reader.varint()
        if number != self.commit + 1 or number > NUMBER_LIMIT:
            raise Refused(f"commit {number} after commit {self.commit}")
        reader.fixed(8)
        reader.string()
        self.read_counters(reader)
        last = 0
        for _ in range(reader.count(4)):
            tag = reader.varint()
            if tag <= last:
                raise Refused("entities that do not ascend")
            last = tag
            self.read_changes(self.schema.entity(tag), reader)
        last = (0, 0)
        for _ in range(reader.count(4)):
            tags = (reader.varint(), reader.varint())
            if tags <= last or tags not in self.links:
                raise Refused("links of what has no list, or lists that do not ascend")
            last = tags
            self.read_links(tags, reader)
        reader.finish()
        self.commit = number

    def read_changes(self, entity, reader):
        rows = self.rows[entity.tag]
        row = 0
        for _ in range(reader.count()):
            row = reader.ascending(row)
            version = reader.varint()
            if row in rows or row >= self.counters[entity.tag]:
                raise Refused(f"an insert of {entity.name} {row}, which exists or was never handed out")
            if version not in (1, self.commit + 1):
                raise Refused(f"an insert of {entity.name} {row} in version {version}")
            rows[row] = [version, {each.tag: each.bytes_and_text(reader) for each in entity.stored}]
        row = 0
        for _ in range(reader.count()):
            row = reader.ascending(row)
            self.read_update(entity, row, rows, reader)
        row = 0
        for _ in range(reader.count()):
            row = reader.ascending(row)
            version = reader.varint()
            if row not in rows or rows[row][0] != version:
                raise Refused(f"a delete of {entity.name} {row} in another version")
            for each in entity.stored:
                self.compare(entity, row, each, rows[row][1][each.tag], each.bytes_and_text(reader))
            del rows[row]

    def read_update(self, entity, row, rows, reader):
        version = reader.varint()
        if row not in rows or rows[row][0] + 1 != version or version > NUMBER_LIMIT:
            raise Refused(f"an update of {entity.name} {row} to another version than the next")
        rows[row][0] = version
        last = 0
        for _ in range(reader.count()):
            tag = reader.varint()
            if tag <= last:
                raise Refused("properties that do not ascend")
            last = tag
            each = entity.tagged(tag)
            if not each.is_stored:
                raise Refused("a value of a property that is not stored")
            self.compare(entity, row, each, rows[row][1][tag], each.bytes_and_text(reader))
            rows[row][1][tag] = each.bytes_and_text(reader)

    @staticmethod
    def compare(entity, row, each, known, told):
        """Values of programs' own types may encode differently, and count as the same to the type."""
        if known[0] != told[0] and not (each.kind and "codable" in kind_names(each.kind)):
            raise Refused(f"{entity.name} {row} has another {each.name} than the record says")

    def read_links(self, tags, reader):
        links = self.links[tags]
        is_ordered = self.schema.entity(tags[0]).tagged(tags[1]).is_ordered
        for owner, member, key in self.pairs(is_ordered, reader):
            if links.get((owner, member)) != key:
                raise Refused("a link is removed that is not there")
            del links[owner, member]
        for owner, member, key in self.pairs(is_ordered, reader):
            if (owner, member) in links:
                raise Refused("a link is added that is there")
            links[owner, member] = key

    @staticmethod
    def pairs(is_ordered, reader):
        result, last = [], (0, 0)
        for _ in range(reader.count(3 if is_ordered else 2)):
            owner = reader.ascending(last[0], step=0)
            member = reader.varint()
            if (owner, member) <= last or owner == 0 or member == 0:
                raise Refused("links that do not ascend")
            key = reader.take(reader.count()) if is_ordered else b""
            if is_ordered and not is_key(key):
                raise Refused("a key that is none")
            last = (owner, member)
            result.append((owner, member, key))
        return result

    # Checkpoints

    def read_head(self, reader, base):
        self.commit = reader.varint()
        if self.commit != base or base > NUMBER_LIMIT:
            raise Refused("a checkpoint of another commit than the header's")
        reader.fixed(8)
        self.read_counters(reader)
        self.row_counts = [reader.varint() for _ in self.schema.entities]
        self.link_counts = [reader.varint() for _ in self.schema.lists]
        reader.finish()
        self.fingerprint = xxh64(reader.data) if self.commit else 0
        self.retained = None

    def read_part(self, reader):
        form = reader.byte()
        if form == 1:
            entity = self.schema.entity(reader.varint())
            leaf = 0
            while reader.left:
                leaf += reader.varint()
                self.read_block(entity, leaf, reader)
        elif form == 2:
            tags = (reader.varint(), reader.varint())
            if tags not in self.links:
                raise Refused("links of what has no list")
            links = self.links[tags]
            is_ordered = self.schema.entity(tags[0]).tagged(tags[1]).is_ordered
            for owner, member, key in self.pairs(is_ordered, reader):
                if (owner, member) in links:
                    raise Refused("a link is there twice")
                links[owner, member] = key
        elif form > 2:
            # Something that no row depends on.
            if form == 4 and reader.left == 8:
                self.fingerprint = reader.fixed(8)
            elif form == 5:
                self.read_retained(reader)
            elif form == 6:
                read_consumer(reader)
            elif form == 7:
                self.read_retained(reader, is_converted=True)
            return
        else:
            raise Refused("an unknown or second part of a checkpoint")
        reader.finish()

    def read_block(self, entity, leaf, reader):
        rows = self.rows[entity.tag]
        bits = reader.fixed(4)
        numbers = [32 * leaf + bit for bit in range(32) if bits >> bit & 1]
        if not numbers or numbers[0] == 0 or numbers[-1] >= self.counters[entity.tag]:
            raise Refused("a block without rows, or with impossible ones")
        for row in numbers:
            version = reader.varint()
            if row in rows or not 1 <= version <= NUMBER_LIMIT:
                raise Refused(f"{entity.name} {row} is there twice, or in an impossible version")
            rows[row] = [version, {}]
        for each in entity.stored:
            for row in numbers:
                rows[row][1][each.tag] = each.bytes_and_text(reader)

    def read_retained(self, reader, is_converted=False):
        """A commit that has led to the checkpoint, by way of those that follow."""
        before = reader.fixed(8)
        own = reader.fixed(8) if is_converted else None
        record = reader.data[17 if is_converted else 9:]
        commit = Reader(record)
        number = commit.varint()
        commit.fixed(8)
        commit.string()
        if not 1 <= number <= self.commit or (self.retained or (number - 1, before)) != (number - 1, before):
            raise Refused("a retained commit that does not follow the one before")
        self.retained = (number, own if is_converted else xxh64(record, before))

    def finish_checkpoint(self):
        if self.retained not in (None, (self.commit, self.fingerprint)):
            raise Refused("retained commits that do not lead to the checkpoint")
        if self.row_counts != [len(self.rows[entity.tag]) for entity in self.schema.entities]:
            raise Refused("the checkpoint has other rows than its head says")
        if self.link_counts != [len(self.links[entity.tag, each.tag]) for entity, each in self.schema.lists]:
            raise Refused("the checkpoint has other links than its head says")

    # The rules of a state

    def members(self):
        """By to-many relationship: the members of each owner, in their order or by number."""
        schema = self.schema
        result = {(entity.tag, each.tag): {} for entity in schema.entities for each in entity.properties
                  if each.is_to_many}
        for entity in schema.entities:
            for each in entity.properties:
                tags = (entity.tag, each.tag)
                if tags in self.links:
                    for owner, member in self.links[tags]:
                        result[tags].setdefault(owner, []).append(member)
                elif each.is_to_many and schema.inverse(each).is_to_one:
                    for member, (_, values) in self.rows[each.target].items():
                        owner = values[each.inverse][1]
                        if owner != "null":
                            result[tags].setdefault(int(owner), []).append(member)
                elif each.is_to_many:
                    for member, owner in self.links[each.target, each.inverse]:
                        result[tags].setdefault(owner, []).append(member)
        for entity, each in schema.lists:
            tags = (entity.tag, each.tag)
            links = self.links[tags]
            for owner, members in result[tags].items():
                members.sort(key=lambda member: (links[owner, member], member))
        for tags, owners in result.items():
            if tags not in self.links:
                for members in owners.values():
                    members.sort()
        return result

    def check(self, members):
        for entity in self.schema.entities:
            rows = self.rows[entity.tag]
            for each in entity.properties:
                where = f"{entity.name}.{each.name}"
                if each.is_to_one:
                    self.check_to_one(entity, each, where)
                elif each.is_to_many:
                    self.check_to_many(entity, each, where, members[entity.tag, each.tag])
                elif each.is_unique:
                    self.check_unique(rows, [each], where)
            for tags in entity.compounds:
                self.check_unique(rows, [entity.tagged(tag) for tag in tags], entity.name)

    def check_to_one(self, entity, each, where):
        targets = self.rows[each.target]
        for row, (_, values) in self.rows[entity.tag].items():
            text = values[each.tag][1]
            if text == "null":
                if each.minimum:
                    raise Refused(f"{where} of {row} is required")
            elif int(text) not in targets:
                raise Refused(f"{where} of {row} leads to {text}, which is not there")
            elif each.inverse and targets[int(text)][1][each.inverse][1] != str(row):
                raise Refused(f"{where} of {row} is not known to its inverse")

    def check_to_many(self, entity, each, where, members):
        rows, targets = self.rows[entity.tag], self.rows[each.target]
        for owner, found in members.items():
            if owner not in rows or any(member not in targets for member in found):
                raise Refused(f"{where} of {owner} links what is not there")
        if each.minimum or each.maximum is not None:
            for row in rows:
                count = len(members.get(row, ()))
                if count < each.minimum or (each.maximum is not None and count > each.maximum):
                    raise Refused(f"{where} of {row} has {count} objects")
        links = self.links.get((entity.tag, each.tag))
        if links is None:
            return
        if self.schema.inverse(each).is_to_one:
            pairs = {(int(values[each.inverse][1]), row) for row, (_, values) in targets.items()
                     if values[each.inverse][1] != "null"}
        else:
            other = self.links.get((each.target, each.inverse))
            if other is None:
                return
            pairs = {(owner, member) for member, owner in other}
        if pairs != set(links):
            raise Refused(f"{where} and its inverse do not agree")

    @staticmethod
    def check_unique(rows, properties, where):
        seen = set()
        for row, (_, values) in rows.items():
            found = [values[each.tag][1] for each in properties]
            if "null" in found:
                continue
            key = tuple(unicodedata.normalize("NFC", text) for text in found)
            if key in seen:
                raise Refused(f"{where} of {row} is not unique")
            seen.add(key)

    # Output

    def lines(self, schema):
        """The rows as lines, with the names of another schema record of the file."""
        members = self.members()
        self.check(members)
        yield json_object([("commit", str(self.commit))])
        if schema.metadata:
            texts = [(key, quoted(text)) for key, text in sorted(schema.metadata.items())]
            yield json_object([("metadata", json_object(texts))])
        for entity in sorted(schema.entities, key=lambda entity: entity.name.encode("utf-8")):
            rows = self.rows[entity.tag]
            for row in sorted(rows):
                version, values = rows[row]
                attributes = [(each.name, values[each.tag][1]) for each in entity.properties if each.kind]
                links = [(each.name, values[each.tag][1]) for each in entity.properties if each.is_to_one]
                links += [(each.name, array(map(str, members[entity.tag, each.tag].get(row, []))))
                          for each in entity.properties if each.is_to_many]
                yield (f'{{"entity":{quoted(entity.name)},"row":{row},"version":{version},'
                       f'"attributes":{json_object(attributes)},"links":{json_object(links)}}}')


def is_key(key):
    if len(key) < 8 or len(key) % 4:
        return False
    digits = [key[start:start + 4] for start in range(8, len(key), 4)]
    is_last_right = digits[-1] != b"\1\0\0\0" if digits else any(key)
    return is_last_right and all(digit[0] for digit in digits)


def xxh64(data, seed=0):
    """The XXH64 of the xxHash specification."""
    mask = (1 << 64) - 1
    first, second, third, fourth, fifth = (
        0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)

    def rotated(value, bits):
        return (value << bits | value >> (64 - bits)) & mask

    def rounded(lane, word):
        return rotated((lane + word * second) & mask, 31) * first & mask

    length, value = len(data), (seed + fifth) & mask
    stripes = length // 32 * 32
    if stripes:
        lanes = [(seed + first + second) & mask, (seed + second) & mask, seed, (seed - first) & mask]
        for words in struct.iter_unpack("<4Q", data[:stripes]):
            lanes = [rounded(lane, word) for lane, word in zip(lanes, words)]
        value = sum(rotated(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & mask
        for lane in lanes:
            value = ((value ^ rounded(0, lane)) * first + fourth) & mask
    value = (value + length) & mask
    rest = data[stripes:]
    while len(rest) >= 8:
        value = (rotated(value ^ rounded(0, int.from_bytes(rest[:8], "little")), 27) * first + fourth) & mask
        rest = rest[8:]
    if len(rest) >= 4:
        value = (rotated(value ^ int.from_bytes(rest[:4], "little") * first & mask, 23) * second + third) & mask
        rest = rest[4:]
    for byte in rest:
        value = rotated(value ^ byte * fifth & mask, 11) * first & mask
    value = (value ^ value >> 33) * second & mask
    value = (value ^ value >> 29) * third & mask
    return value ^ value >> 32


def read_consumer(reader):
    """Who has read the history of the file, and how far."""
    name = reader.string()
    is_there = reader.byte()
    if not 1 <= len(name.encode()) <= 1000 or is_there > 1:
        raise Refused("an impossible consumer of history")
    if is_there:
        reader.varint()
        reader.fixed(8)
    reader.finish()


def kind_names(kind):
    return {kind.name}.union(*(kind_names(inner) for inner in kind.inner))


# The file


class Header:
    def __init__(self, data):
        copies = [data[:HEADER_LENGTH], data[HEADER_LENGTH:2 * HEADER_LENGTH]]
        if len(data) < 2 * HEADER_LENGTH or all(copy[:8] != MAGIC for copy in copies):
            raise Refused("not a store")
        if all(copy[8:10] != b"\1\0" for copy in copies):
            raise Refused("another version of the format")
        valid = [copy for copy in copies
                 if crc32c(copy[:4092]) == int.from_bytes(copy[4092:], "little") and copy[:8] == MAGIC]
        if not valid:
            raise Refused("corrupt at 0: both headers are damaged")
        for copy in valid:
            self.check(copy)
        if len(valid) == 2 and valid[0] != valid[1]:
            raise Refused("corrupt at 0: the two headers differ")
        header = valid[0]
        self.has_checkpoint = struct.unpack_from("<I", header, 16)[0] == CHECKPOINT_FEATURE
        self.file = header[48:64]
        self.salt = struct.unpack_from("<I", header, 48)[0]
        self.base = struct.unpack_from("<Q", header, 72)[0]
        self.schema_digest = header[88:120]
        self.checksum = struct.unpack_from("<I", header, 4092)[0]

    @staticmethod
    def check(header):
        major, _, length, incompatible, read_only, algorithm = struct.unpack_from("<HHIIIB", header, 8)
        is_known = (major == 1 and length == HEADER_LENGTH and incompatible & ~CHECKPOINT_FEATURE == 0
                    and read_only == 0 and algorithm == 1)
        if not is_known or any(header[25:32]) or any(header[84:88]) or any(header[128:4092]):
            raise Refused("another version of the format, or features that this reader does not know")


class Record:
    """A record's header that has its right checksum."""

    def __init__(self, header, offset):
        (self.checksum, self.kind, self.flags, zero, self.length, self.sequence, self.durable_through, self.chain,
         self.payload_checksum) = struct.unpack_from("<IBBHIQQII", header, 4)
        self.is_known = 1 <= self.kind <= CONSUMER and self.flags == 0 and zero == 0 and self.length <= PAYLOAD_LIMIT
        self.start = offset + RECORD_HEADER_LENGTH
        self.end = self.start + (self.length + 7) // 8 * 8

    @classmethod
    def at(cls, offset, data, salt):
        header = data[offset:offset + RECORD_HEADER_LENGTH]
        if header[:4] != RECORD_MAGIC or len(header) < RECORD_HEADER_LENGTH:
            return None
        record = cls(header, offset)
        return record if crc32c(header[8:36], salt) == record.checksum else None

    def payload(self, data):
        """None for one that is not whole."""
        whole = data[self.start:self.end]
        payload = whole[:self.length]
        if len(whole) < self.end - self.start or any(whole[self.length:]):
            return None
        return payload if crc32c(payload, self.checksum) == self.payload_checksum else None


class FileBytes:
    """The bytes of a file, which are read when they are needed: it may be large, and have holes."""

    PIECE = 1 << 20

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.length = os.fstat(descriptor).st_size

    def __len__(self):
        return self.length

    def __getitem__(self, wanted):
        start, stop, _ = wanted.indices(self.length)
        return os.pread(self.descriptor, max(stop - start, 0), start)

    def find(self, text, start, stop):
        stop = min(stop, self.length)
        while start < stop:
            found = self[start:min(start + self.PIECE, stop)].find(text)
            if found >= 0:
                return start + found
            # What lies across the end of a piece is found in the next one.
            start += self.PIECE - len(text) + 1
        return -1


class StoreFile:
    """A whole file. `state` is the newest one, `schema` has the names."""

    def __init__(self, data, lock=b"", after_change=None):
        self.data = data
        self.header = Header(data)
        self.remembered = self.end_in_lock(lock)
        self.after_change = after_change or (lambda state, schema: None)
        self.state = self.schema = None
        self.is_sealed = self.has_head = False
        self.is_in_checkpoint = self.header.has_checkpoint
        self.last_kind = None
        self.torn_at = None
        self.scan()

    def end_in_lock(self, lock):
        """The sequence that the lock file remembers; 0 without one."""
        end = lock[512:576]
        if len(end) < 64 or end[:4] != END_MAGIC or end[8:24] != self.header.file:
            return 0
        is_whole = crc32c(end[8:]) == int.from_bytes(end[4:8], "little") and end[44] <= 1 and not any(end[45:])
        return struct.unpack_from("<Q", end, 24)[0] if is_whole else 0

    def scan(self):
        offset, sequence, chain, durable = 2 * HEADER_LENGTH, 1, self.header.checksum, 0
        while True:
            record = Record.at(offset, self.data, self.header.salt)
            if record and not record.is_known:
                raise Refused(f"corrupt at {offset}: an unknown kind of record")
            payload = record.payload(self.data) if record else None
            if payload is None:
                return self.check_end(offset, sequence, durable)
            if record.sequence != sequence or record.chain != chain:
                raise Refused(f"corrupt at {offset}: record {record.sequence} in place of {sequence}")
            if not durable <= record.durable_through < sequence:
                raise Refused(f"corrupt at {offset}: record {sequence} counts impossible ones as durable")
            try:
                self.replay(record, payload)
            except Refused as refused:
                raise Refused(f"invalid record at {offset}: {refused}") from None
            chain, durable, offset = record.payload_checksum, record.durable_through, record.end
            self.last_kind = record.kind
            sequence += 1

    def check_end(self, offset, sequence, durable):
        """Whether what is found in place of a record is the end of the file."""
        data = self.data
        if not self.is_sealed:
            raise Refused(f"corrupt at {offset}: the file ends before its seal")
        found = data.find(RECORD_MAGIC, offset, offset + TAIL_LIMIT)
        while found >= 0:
            record = Record.at(found, data, self.header.salt)
            if record and record.sequence > sequence:
                durable = max(durable, record.durable_through)
            found = data.find(RECORD_MAGIC, found + 1, offset + TAIL_LIMIT)
        if durable >= sequence:
            raise Refused(f"corrupt at {offset}: record {sequence} is damaged, which was durable")
        if len(data) - offset > TAIL_LIMIT:
            raise Refused(f"corrupt at {offset}: more than 512 MiB that are no records")
        is_closed = offset == len(data) and self.last_kind == CLOSE
        if self.remembered >= sequence and not is_closed:
            raise Refused(f"corrupt at {offset}: record {sequence} is lost, which the lock file remembers")
        pieces = range(offset, len(data), FileBytes.PIECE)
        if any(data[start:start + FileBytes.PIECE].strip(b"\0") for start in pieces):
            self.torn_at = offset

    def replay(self, record, payload):
        kind = record.kind
        if self.state is None:
            if kind != SCHEMA:
                raise Refused("the first record is no schema")
            if hashlib.sha256(payload).digest() != self.header.schema_digest:
                raise Refused("another schema than the header's")
            self.schema = Schema(payload)
            self.state = State(self.schema)
        elif self.is_in_checkpoint:
            self.replay_checkpoint(kind, payload)
        elif kind == SCHEMA:
            schema = Schema(payload)
            if schema.shape != self.schema.shape:
                raise Refused("a schema that differs in what is stored")
            # Names, rules and indexes are those of the last one.
            self.schema = self.state.schema = schema
            self.after_change(self.state, self.schema)
        elif kind == COMMIT:
            self.state.read_commit(payload)
            self.after_change(self.state, self.schema)
        elif kind in (CLOSE, MARK):
            reader = Reader(payload)
            self.state.read_counters(reader)
            reader.finish()
            self.is_sealed = self.is_sealed or kind == MARK
        elif kind == CONSUMER:
            read_consumer(Reader(payload))
        else:
            raise Refused("a part of a checkpoint in the wrong place")

    def replay_checkpoint(self, kind, payload):
        reader = Reader(payload)
        if kind == PART and not self.has_head:
            if reader.byte() != 0:
                raise Refused("a checkpoint without its head")
            self.state.read_head(reader, self.header.base)
            self.has_head = True
        elif kind == PART:
            self.state.read_part(reader)
        elif kind == PART_END and self.has_head:
            reader.finish()
            self.state.finish_checkpoint()
            self.is_in_checkpoint = False
            self.after_change(self.state, self.schema)
        else:
            raise Refused("a checkpoint that is not whole")

    def lines(self):
        return list(self.state.lines(self.schema))


def lock_file(path):
    try:
        with open(path + ".lock", "rb") as file:
            return file.read(4096)
    except FileNotFoundError:
        return b""


def main(arguments):
    if len(arguments) != 1:
        print("usage: graph_reader.py FILE", file=sys.stderr)
        return 2
    path = arguments[0]
    try:
        with open(path, "rb") as file:
            store = StoreFile(FileBytes(file.fileno()), lock_file(path))
            output = "".join(line + "\n" for line in store.lines())
    except (Refused, OSError) as error:
        print(f"graph_reader: {path}: {error}", file=sys.stderr)
        return 1
    if store.torn_at is not None:
        print(f"graph_reader: {path}: an unfinished write at {store.torn_at} is left out", file=sys.stderr)
    sys.stdout.buffer.write(output.encode("utf-8"))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
