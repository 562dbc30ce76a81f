package broken

import (
	"fmt"
	"go/ast"
	"hash/crc32"
	"strings"
)

// A Go test may compare by a function or a method with what it computes, `got.Equal(want)`. Another
// value of its type is made of it as the test runs: with each exported field of a struct changed, or
// without what a slice, a map or a string has. Of what no other is known the test fails at once, by
// which nothing is doubted.
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

// goOtherOf is what makes another value in a file: files of one package need names of their own.
func goOtherOf(text string) string {
	return fmt.Sprintf("wardOther%08x", crc32.ChecksumIEEE([]byte(text)))
}

// goOthers has what such comparisons call stand in a text, if it has any.
func goOthers(was, text string) string {
	if name := goOtherOf(was); strings.Contains(text, name+"(") {
		text += fmt.Sprintf(goOther, name)
	}
	return text
}

// goComputed is what a call compares with that a text computes, by goLast's rules; nil for none.
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
