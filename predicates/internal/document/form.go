package document

import (
	"reflect"
	"strings"
	"sync"
)

// structForm is how a struct may be written.
type structForm struct {
	fields map[string]reflect.StructField // by their names in documents
	short  *reflect.StructField           // the field that may stand for the whole; nil: none
}

// forms remembers the forms of structs by type: there are few types, and looking at
// their fields took a quarter of all that loading allocates. It is safe for concurrent
// use.
type forms struct{ byType sync.Map }

func (f *forms) of(t reflect.Type) structForm {
	if form, ok := f.byType.Load(t); ok {
		return form.(structForm)
	}
	form := structForm{fields: map[string]reflect.StructField{}}
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		form.fields[name] = field
		if has(field.Tag, "short") {
			form.short = &field
		}
	}
	f.byType.Store(t, form)
	return form
}
