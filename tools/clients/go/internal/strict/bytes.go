package strict

import (
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// Base64 decodes padded base64 (RFC 4648 §4) with spare bits zero; the text is its only spelling.
func Base64(text string) ([]byte, error) {
	return decode(base64.StdEncoding.Strict(), text)
}

// Base64URL decodes base64url without padding (RFC 4648 §5) with spare bits zero.
func Base64URL(text string) ([]byte, error) {
	return decode(base64.RawURLEncoding.Strict(), text)
}

func decode(encoding *base64.Encoding, text string) ([]byte, error) {
	// encoding/base64 skips line breaks.
	if strings.ContainsAny(text, "\r\n") {
		return nil, errors.New("text has a character that is not a digit")
	}
	decoded, err := encoding.DecodeString(text)
	if err != nil {
		return nil, errors.New("text is not base64 in its one spelling")
	}
	return decoded, nil
}

// Hash decodes a hash of 32 bytes in base64.
func Hash(text string) ([]byte, error) {
	b, err := Base64(text)
	if err == nil && len(b) != 32 {
		err = fmt.Errorf("base64 is %d bytes, not 32", len(b))
	}
	return b, err
}

// Hex decodes lower-case hex of exactly n bytes.
func Hex(text string, n int) ([]byte, error) {
	if len(text)%2 != 0 {
		return nil, errors.New("hex has an odd number of digits")
	}
	if len(text) != 2*n {
		return nil, fmt.Errorf("hex is %d bytes, not %d", len(text)/2, n)
	}
	b, err := hex.DecodeString(text)
	if err != nil || strings.ToLower(text) != text {
		return nil, errors.New("text has a character that is not a digit")
	}
	return b, nil
}

// EncodeBase64URL encodes base64url without padding.
func EncodeBase64URL(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
