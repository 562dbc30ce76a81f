package broken

import (
	"fmt"
	"go/ast"
	"hash/crc32"
	"strings"
)

// A Go test may compare with a computed value by a function or a method, `got.Equal(want)`. While the
// test runs, another value of the same type is made: each exported field of a struct is changed; a
// slice, a map or a string is emptied. Where no other value can be made, the test fails at once, which
// raises no doubt.
const goOther = `
func %[1]s[T any](wardV T) T {
	var wardChange func(wardReflect.Value) bool
	wardChange = func(wardX wardReflect.Value) bool {
		switch wardX.Kind() {
		case wardReflect.Bool:
			wardX.SetBool(!wardX.Bool())
		case wardReflect.Int, wardReflect.Int8, wardReflect.Int16, wardReflect.Int32, wardReflect.Int64:
			wardX.SetInt(wardX.Int() ^ 5)
		case wardReflect.Uint, wardReflect.Uint8, wardReflect.Uint16, wardReflect.Uint32, wardReflect.Uint64, wardReflect.Uintptr:
			wardX.SetUint(wardX.Uint() ^ 5)
		case wardReflect.Float32, wardReflect.Float64:
			wardX.SetFloat(wardX.Float()*2 + 7)
		case wardReflect.String:
			wardX.SetString("ward" + wardX.String())
		case wardReflect.Slice:
			if wardX.Len() == 0 {
				wardX.Set(wardReflect.MakeSlice(wardX.Type(), 1, 1))
			} else {
				wardX.Set(wardReflect.Zero(wardX.Type()))
			}
		case wardReflect.Pointer, wardReflect.Interface:
			if wardX.IsNil() {
				return false
			}
			wardNew := wardReflect.New(wardX.Elem().Type())
			wardNew.Elem().Set(wardX.Elem())
			if !wardChange(wardNew.Elem()) {
				return false
			}
			if wardX.Kind() == wardReflect.Interface {
				wardNew = wardNew.Elem()
			}
			wardX.Set(wardNew)
		case wardReflect.Struct:
			wardDid := false
			for wardI := 0; wardI < wardX.NumField(); wardI++ {
				if wardX.Field(wardI).CanSet() && wardChange(wardX.Field(wardI)) {
					wardDid = true
				}
			}
			if !wardDid && wardX.IsZero() {
				return false
			}
			if !wardDid {
				wardX.Set(wardReflect.Zero(wardX.Type()))
			}
		default:
			if wardX.IsZero() {
				return false
			}
			wardX.Set(wardReflect.Zero(wardX.Type()))
		}
		return true
	}
	if !wardChange(wardReflect.ValueOf(&wardV).Elem()) {
		panic("no other value")
	}
	return wardV
}
`

// goOtherOf names the function that makes another value: each file of a package needs its own name.
func goOtherOf(text string) string {
	return fmt.Sprintf("wardOther%08x", crc32.ChecksumIEEE([]byte(text)))
}

// goOthers adds the function that such comparisons call, if the text has any.
func goOthers(was, text string) string {
	if name := goOtherOf(was); strings.Contains(text, name+"(") {
		text += fmt.Sprintf(goOther, name)
	}
	return text
}

// goComputed returns the computed value that a call compares with, by goLast's rules; nil for none.
func goComputed(file *ast.File, call *ast.CallExpr) ast.Expr {
	if len(call.Args) != goArgs(file, call) {
		return nil
	}
	last := call.Args[len(call.Args)-1]
	if _, value := last.(*ast.BasicLit); value {
		return nil
	}
	if name, ok := last.(*ast.Ident); ok && name.Name == "nil" {
		return nil
	}
	return last
}
