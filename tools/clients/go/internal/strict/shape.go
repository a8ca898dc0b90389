package strict

import "fmt"

// Exact returns a value as an object that has all required members, perhaps some of the optional ones, and no other.
func Exact(v Value, what string, required []string, optional ...string) (*Object, error) {
	o, ok := v.(*Object)
	if !ok {
		return nil, fmt.Errorf("%s is not an object", what)
	}
	for _, name := range required {
		if !o.Has(name) {
			return nil, fmt.Errorf("%s has no %s", what, name)
		}
	}
	for _, name := range o.Names {
		if !contains(required, name) && !contains(optional, name) {
			return nil, fmt.Errorf("%s has a member it may not have", what)
		}
	}
	return o, nil
}

func contains(names []string, name string) bool {
	for _, other := range names {
		if other == name {
			return true
		}
	}
	return false
}

// Count returns a member as an integer from 0 to 2^53 - 1.
func (o *Object) Count(name, what string) (int64, error) {
	v, _ := o.Get(name)
	n, ok := v.(int64)
	if !ok || n < 0 {
		return 0, fmt.Errorf("%s is not an integer from 0 to 2^53 - 1", what)
	}
	return n, nil
}

// String returns a member as a string.
func (o *Object) String(name, what string) (string, error) {
	v, _ := o.Get(name)
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s is not a string", what)
	}
	return s, nil
}

// Text returns a member that is a string, else the empty string.
func (o *Object) Text(name string) string {
	v, _ := o.Get(name)
	s, _ := v.(string)
	return s
}

// Object returns a member that is an object, else nil.
func (o *Object) Object(name string) *Object {
	v, _ := o.Get(name)
	member, _ := v.(*Object)
	return member
}

// List returns a value as a list of at most limit values.
func List(v Value, what string, limit int) ([]Value, error) {
	list, ok := v.([]Value)
	if !ok {
		return nil, fmt.Errorf("%s is not a list", what)
	}
	if len(list) > limit {
		return nil, fmt.Errorf("%s has over %d values", what, limit)
	}
	return list, nil
}

// Strings returns a value as a list of at most limit strings.
func Strings(v Value, what string, limit int) ([]string, error) {
	list, err := List(v, what, limit)
	if err != nil {
		return nil, err
	}
	texts := make([]string, len(list))
	for i, element := range list {
		s, ok := element.(string)
		if !ok {
			return nil, fmt.Errorf("%s is not a string", what)
		}
		texts[i] = s
	}
	return texts, nil
}

// HashOf returns a member as the 32 bytes of a hash in base64.
func (o *Object) HashOf(name, what string) ([]byte, error) {
	s, err := o.String(name, what)
	if err != nil {
		return nil, err
	}
	b, err := Hash(s)
	if err != nil {
		return nil, fmt.Errorf("%s is not 32 bytes in base64", what)
	}
	return b, nil
}
