"""As much of the program jq as the specification's lines need, for machines without it: `jq [-r] [-n --arg NAME VALUE ...] FILTER`.

The filter is run by jq's own library.
"""

import json
import sys

import jq


def main(arguments: list[str]) -> None:
    """Run one filter on standard input, or on null with -n."""
    raw, nothing, filters, named = False, False, [], {}
    given = iter(arguments)
    for one in given:
        if one == "--arg":
            name, value = next(given), next(given)
            named[name] = value
        elif one == "-r":
            raw = True
        elif one == "-n":
            nothing = True
        else:
            filters.append(one)
    [program] = filters
    compiled = jq.compile(program, args=named)
    for value in compiled.input_text("null" if nothing else sys.stdin.read()):
        print(value if raw and isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False))


if __name__ == "__main__":
    main(sys.argv[1:])
