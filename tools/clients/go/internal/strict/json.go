// Package strict reads what a log and its operator write, and accepts one spelling of each thing: I-JSON with
// integers, padded base64, lower-case hex and Ed25519 by the rule of log/FORMAT.md, Notation.
package strict

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// A Value is nil, bool, string, int64 (an integer of at most 2^53 - 1), float64 (any other number), []Value or *Object.
type Value any

// An Object keeps its members in the order of the text.
type Object struct {
	Names  []string
	values map[string]Value
}

// NewObject returns an object without members.
func NewObject() *Object { return &Object{values: map[string]Value{}} }

// Get returns the member of a name, and whether there is one. A nil object has none.
func (o *Object) Get(name string) (Value, bool) {
	if o == nil {
		return nil, false
	}
	v, ok := o.values[name]
	return v, ok
}

// Has reports whether there is a member of this name.
func (o *Object) Has(name string) bool {
	_, ok := o.Get(name)
	return ok
}

// Set adds or replaces a member.
func (o *Object) Set(name string, v Value) {
	if _, ok := o.values[name]; !ok {
		o.Names = append(o.Names, name)
	}
	o.values[name] = v
}

// Without returns a copy that lacks the given members.
func (o *Object) Without(names ...string) *Object {
	rest := NewObject()
	for _, name := range o.Names {
		skip := false
		for _, other := range names {
			skip = skip || name == other
		}
		if !skip {
			rest.Set(name, o.values[name])
		}
	}
	return rest
}

// Options widen what a place accepts.
type Options struct {
	// Fractions accepts numbers of every JSON spelling, as in committed values (log/FORMAT.md §2.2).
	Fractions bool
	// MaxDepth is the deepest nesting, the outermost container being 1; 16 when zero.
	MaxDepth int
	// MaxBytes is the longest text; unlimited when zero.
	MaxBytes int
}

// MaxInteger is the largest integer of the format, 2^53 - 1.
const MaxInteger = 1<<53 - 1

var errSyntax = errors.New("text is not json")

// Parse reads an I-JSON text (RFC 7493; log/FORMAT.md, Notation).
func Parse(text string, options Options) (Value, error) {
	if options.MaxDepth == 0 {
		options.MaxDepth = 16
	}
	if options.MaxBytes > 0 && len(text) > options.MaxBytes {
		return nil, fmt.Errorf("text is %d bytes, the limit is %d", len(text), options.MaxBytes)
	}
	if !utf8.ValidString(text) {
		return nil, errors.New("text is not utf-8 without a byte order mark")
	}
	p := parser{text: text, options: options}
	v, err := p.value(1)
	if err != nil {
		return nil, err
	}
	p.space()
	if p.at != len(text) {
		return nil, errSyntax
	}
	return v, nil
}

type parser struct {
	text    string
	at      int
	options Options
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\t', '\n', '\r':
			p.at++
		default:
			return
		}
	}
}

func (p *parser) take(c byte) bool {
	p.space()
	if p.at < len(p.text) && p.text[p.at] == c {
		p.at++
		return true
	}
	return false
}

// value reads a value whose container, if it is one, has this depth.
func (p *parser) value(depth int) (Value, error) {
	p.space()
	if p.at == len(p.text) {
		return nil, errSyntax
	}
	switch c := p.text[p.at]; {
	case c == '{' || c == '[':
		if depth > p.options.MaxDepth {
			return nil, fmt.Errorf("nesting is over %d levels", p.options.MaxDepth)
		}
		p.at++
		if c == '{' {
			return p.object(depth)
		}
		return p.array(depth)
	case c == '"':
		p.at++
		return p.str()
	case c == '-' || (c >= '0' && c <= '9'):
		return p.number()
	}
	for _, word := range []struct {
		text  string
		value Value
	}{{"true", true}, {"false", false}, {"null", nil}} {
		if len(p.text)-p.at >= len(word.text) && p.text[p.at:p.at+len(word.text)] == word.text {
			p.at += len(word.text)
			return word.value, nil
		}
	}
	return nil, errSyntax
}

func (p *parser) object(depth int) (Value, error) {
	o := NewObject()
	if p.take('}') {
		return o, nil
	}
	for {
		if !p.take('"') {
			return nil, errSyntax
		}
		name, err := p.str()
		if err != nil {
			return nil, err
		}
		if !p.take(':') {
			return nil, errSyntax
		}
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if o.Has(name) {
			return nil, errors.New("one object has a member name twice")
		}
		o.Set(name, v)
		if p.take('}') {
			return o, nil
		}
		if !p.take(',') {
			return nil, errSyntax
		}
	}
}

func (p *parser) array(depth int) (Value, error) {
	list := []Value{}
	if p.take(']') {
		return list, nil
	}
	for {
		v, err := p.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
		if p.take(']') {
			return list, nil
		}
		if !p.take(',') {
			return nil, errSyntax
		}
	}
}

// str reads a string after its opening quote.
func (p *parser) str() (string, error) {
	start := p.at
	var out []byte
	for p.at < len(p.text) {
		switch c := p.text[p.at]; {
		case c == '"':
			end := p.at
			p.at++
			if out == nil {
				return p.text[start:end], nil
			}
			return string(out), nil
		case c < 0x20:
			return "", errSyntax
		case c == '\\':
			if out == nil {
				out = append(make([]byte, 0, p.at-start+32), p.text[start:p.at]...)
			}
			p.at++
			var err error
			if out, err = p.escape(out); err != nil {
				return "", err
			}
		default:
			if out != nil {
				out = append(out, c)
			}
			p.at++
		}
	}
	return "", errSyntax
}

var escapes = map[byte]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (p *parser) escape(out []byte) ([]byte, error) {
	if p.at == len(p.text) {
		return nil, errSyntax
	}
	c := p.text[p.at]
	p.at++
	if c != 'u' {
		plain, ok := escapes[c]
		if !ok {
			return nil, errSyntax
		}
		return append(out, plain), nil
	}
	unit, err := p.unit()
	if err != nil {
		return nil, err
	}
	if !utf16.IsSurrogate(unit) {
		return utf8.AppendRune(out, unit), nil
	}
	errLone := errors.New("text has a lone surrogate")
	if len(p.text)-p.at < 2 || p.text[p.at:p.at+2] != `\u` {
		return nil, errLone
	}
	p.at += 2
	low, err := p.unit()
	if err != nil {
		return nil, err
	}
	r := utf16.DecodeRune(unit, low)
	if r == utf8.RuneError {
		return nil, errLone
	}
	return utf8.AppendRune(out, r), nil
}

// unit reads the four digits of an escaped UTF-16 code unit.
func (p *parser) unit() (rune, error) {
	if len(p.text)-p.at < 4 {
		return 0, errSyntax
	}
	n, err := strconv.ParseUint(p.text[p.at:p.at+4], 16, 16)
	if err != nil || p.text[p.at] == '+' {
		return 0, errSyntax
	}
	p.at += 4
	return rune(n), nil
}

func (p *parser) digits() int {
	start := p.at
	for p.at < len(p.text) && p.text[p.at] >= '0' && p.text[p.at] <= '9' {
		p.at++
	}
	return p.at - start
}

func (p *parser) number() (Value, error) {
	start := p.at
	if p.text[p.at] == '-' {
		p.at++
	}
	first := p.at
	if n := p.digits(); n == 0 || (n > 1 && p.text[first] == '0') {
		return nil, errSyntax
	}
	plain := true
	if p.at < len(p.text) && p.text[p.at] == '.' {
		plain = false
		p.at++
		if p.digits() == 0 {
			return nil, errSyntax
		}
	}
	if p.at < len(p.text) && (p.text[p.at] == 'e' || p.text[p.at] == 'E') {
		plain = false
		p.at++
		if p.at < len(p.text) && (p.text[p.at] == '+' || p.text[p.at] == '-') {
			p.at++
		}
		if p.digits() == 0 {
			return nil, errSyntax
		}
	}
	spelling := p.text[start:p.at]
	if !plain && !p.options.Fractions {
		return nil, errors.New("a number is written with a fraction or an exponent")
	}
	f, err := strconv.ParseFloat(spelling, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, errSyntax
	}
	if f == 0 && math.Signbit(f) {
		return nil, errors.New("a number is minus zero")
	}
	if math.IsInf(f, 0) && !plain {
		return nil, errors.New("a number is too large")
	}
	if f == math.Trunc(f) && math.Abs(f) <= MaxInteger {
		return int64(f), nil
	}
	if plain && !(p.options.Fractions && formatNumber(f) == spelling) {
		return nil, errors.New("an integer is not between -(2^53 - 1) and 2^53 - 1")
	}
	return f, nil
}
