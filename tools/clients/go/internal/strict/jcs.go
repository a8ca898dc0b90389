package strict

import (
	"crypto/sha256"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Canonical returns the canonical text of a value (RFC 8785).
func Canonical(v Value) string { return string(appendCanonical(nil, v)) }

// HashCanonical returns SHA-256 of the canonical text.
func HashCanonical(v Value) [32]byte { return sha256.Sum256(appendCanonical(nil, v)) }

func appendCanonical(out []byte, v Value) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case int64:
		return strconv.AppendInt(out, v, 10)
	case float64:
		return append(out, formatNumber(v)...)
	case string:
		return appendString(out, v)
	case []Value:
		out = append(out, '[')
		for i, element := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, element)
		}
		return append(out, ']')
	case *Object:
		names := append([]string(nil), v.Names...)
		sort.Slice(names, func(i, j int) bool { return lessUTF16(names[i], names[j]) })
		out = append(out, '{')
		for i, name := range names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(appendString(out, name), ':')
			out = appendCanonical(out, v.values[name])
		}
		return append(out, '}')
	}
	panic("strict: not a JSON value")
}

// lessUTF16 orders by UTF-16 code units (RFC 8785 §3.2.3). UTF-8 has the same order except where one character of a
// pair of different ones is beyond U+FFFF.
func lessUTF16(a, b string) bool {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	for i > 0 && i < len(a) && !utf8.RuneStart(a[i]) {
		i--
	}
	if i == len(a) || i == len(b) {
		return len(a) < len(b)
	}
	r, _ := utf8.DecodeRuneInString(a[i:])
	s, _ := utf8.DecodeRuneInString(b[i:])
	if r >= 0x10000 != (s >= 0x10000) {
		high := func(r rune) rune {
			if r < 0x10000 {
				return r
			}
			h, _ := utf16.EncodeRune(r)
			return h
		}
		return high(r) < high(s)
	}
	return r < s
}

func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	out = append(out, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			out = append(out, '\\', c)
		case c >= 0x20:
			out = append(out, c)
		case c == '\b':
			out = append(out, `\b`...)
		case c == '\t':
			out = append(out, `\t`...)
		case c == '\n':
			out = append(out, `\n`...)
		case c == '\f':
			out = append(out, `\f`...)
		case c == '\r':
			out = append(out, `\r`...)
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	return append(out, '"')
}

// formatNumber prints a double as ECMAScript does (RFC 8785 §3.2.2.3).
func formatNumber(f float64) string {
	if f == 0 {
		return "0"
	}
	sign := ""
	if f < 0 {
		sign, f = "-", math.Abs(f)
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(f, 'e', -1, 64), "e")
	digits := strings.Replace(mantissa, ".", "", 1)
	e, _ := strconv.Atoi(exponent)
	n, k := e+1, len(digits) // the value is 0.digits × 10^n
	switch {
	case k <= n && n <= 21:
		return sign + digits + strings.Repeat("0", n-k)
	case 0 < n && n <= 21:
		return sign + digits[:n] + "." + digits[n:]
	case -6 < n && n <= 0:
		return sign + "0." + strings.Repeat("0", -n) + digits
	}
	if k > 1 {
		digits = digits[:1] + "." + digits[1:]
	}
	if e > 0 {
		return sign + digits + "e+" + strconv.Itoa(e)
	}
	return sign + digits + "e" + strconv.Itoa(e)
}
