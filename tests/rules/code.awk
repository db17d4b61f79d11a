# SPDX-License-Identifier: MIT
#
# Reads C with its comments blanked (and, with -v blank_strings=1, the insides of its string and character
# literals), so that what a rule looks for is code. Prints "file:line: message" for each line that matches -v pattern;
# without a pattern, prints "file:line:code" for every line. Line splices in the middle of a token are not undone.

FNR == 1 {
    in_comment = 0
}

{
    line = $0
    code = ""
    quote = ""
    length_of_line = length(line)
    for (at = 1; at <= length_of_line; at++) {
        c = substr(line, at, 1)
        two = substr(line, at, 2)
        if (in_comment) {
            if (two == "*/") {
                in_comment = 0
                at++
                code = code " "
            }
        } else if (quote != "") {
            if (c == "\\") {
                code = code (blank_strings ? "" : two)
                at++
            } else if (c == quote) {
                quote = ""
                code = code c
            } else {
                code = code (blank_strings ? "" : c)
            }
        } else if (two == "/*") {
            in_comment = 1
            at++
        } else if (two == "//") {
            break
        } else {
            if (c == "\"" || c == "'") {
                quote = c
            }
            code = code c
        }
    }
    if (pattern == "") {
        print FILENAME ":" FNR ":" code
    } else if (code ~ pattern) {
        print FILENAME ":" FNR ": " message
    }
}
