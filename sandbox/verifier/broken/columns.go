package broken

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
)

// column is a value in a Go test's table, in a column whose comparison decides whether the test fails.
type column struct {
	test     string
	from, to int
	cond     edit   // where the condition stands
	asked    string // what stands for the value there
}

// tableRow is a row of a table whose fields have no names, and its place in the text. known: one of
// its values is in a column. Otherwise nobody knows which of its values the test compares. values are
// all of them, if each is a literal.
type tableRow struct {
	from, to int
	known    bool
	values   []edit
}

// others changes each value of a row of which nothing is known, alternately up and down, and in the
// next row the other way round, so that an input and its output do not match again by chance.
func (r *tableRow) others(text string, n int) (list []edit) {
	for i, e := range r.values {
		list = append(list, edit{e.from, e.to, other(text[e.from:e.to], n+i+1)})
	}
	return list
}

// goColumns finds the columns of the tables that a test has or names: in structs by the field, in maps
// by the name that a loop gives to their values. rows are those whose fields have no names.
func goColumns(text string) (found []column, rows []*tableRow) {
	files, file, tests := goFile(text)
	if file == nil {
		return nil, nil
	}
	at := func(pos token.Pos) int { return files.PositionFor(pos, false).Offset }
	structs, beside := map[string]*ast.StructType{}, map[string]ast.Node{}
	ast.Inspect(file, func(n ast.Node) bool {
		if t, ok := n.(*ast.TypeSpec); ok {
			if s, ok := t.Type.(*ast.StructType); ok {
				structs[t.Name.Name] = s
			}
		}
		return true
	})
	for _, d := range file.Decls {
		if g, ok := d.(*ast.GenDecl); ok {
			for _, s := range g.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					for _, name := range v.Names {
						beside[name.Name] = v
					}
				}
			}
		}
	}
	for _, f := range tests {
		asked := map[string]column{} // by field, or by name
		operands := map[ast.Expr]bool{}
		tables := []ast.Node{f.Body}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.IfStmt:
				if !goFails(n.Body) { // it asks how to test
					break
				}
				for _, x := range goOperands(n.Cond, true) {
					operands[x] = true
					c := column{f.Name.Name, 0, 0, edit{from: at(n.Cond.Pos()), to: at(n.Cond.End())}, text[at(x.Pos()):at(x.End())]}
					asked[goKey(x)] = c
				}
			case *ast.Ident:
				if v := beside[n.Name]; v != nil && !slices.Contains(tables, v) {
					tables = append(tables, v)
				}
			}
			return true
		})
		given := goGiven(f.Body, operands)
		add := func(name string, x ast.Expr) bool {
			c, ok := asked[name]
			if ok && !given[name] && goLiteral(x) != nil {
				c.from, c.to = at(x.Pos()), at(x.End())
				found = append(found, c)
			}
			return ok
		}
		row := func(one *ast.CompositeLit, known bool) {
			r := &tableRow{at(one.Pos()), at(one.End()), known, nil}
			if i := slices.IndexFunc(rows, func(other *tableRow) bool { return other.from == r.from }); i >= 0 {
				rows[i].known = rows[i].known || known // another test has the table, too
				return
			}
			for _, x := range one.Elts {
				if goLiteral(x) == nil {
					r.values = nil
					break
				}
				r.values = append(r.values, edit{from: at(x.Pos()), to: at(x.End())})
			}
			rows = append(rows, r)
		}
		values := goRanged(f)
		for _, table := range tables {
			ast.Inspect(table, func(n ast.Node) bool {
				if list, ok := n.(*ast.CompositeLit); ok {
					goRow(list, structs, values, add, row)
				}
				return true
			})
		}
	}
	return found, rows
}

// goKey returns a field with its dot, or a name.
func goKey(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.SelectorExpr:
		return "." + x.Sel.Name
	case *ast.Ident:
		return x.Name
	}
	return ""
}

// goGiven finds the fields and names that a test uses for more than comparing and reporting. An input
// that has to come out again is not an expected value.
func goGiven(body *ast.BlockStmt, operands map[ast.Expr]bool) map[string]bool {
	given := map[string]bool{}
	var look func(n ast.Node) bool
	look = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			if goFails(n.Body) {
				for _, part := range []ast.Node{n.Init, n.Cond, n.Else} {
					if part != nil {
						ast.Inspect(part, look)
					}
				}
				return false
			}
		case *ast.RangeStmt: // which gives names
			ast.Inspect(n.X, look)
			ast.Inspect(n.Body, look)
			return false
		case *ast.KeyValueExpr:
			ast.Inspect(n.Value, look)
			return false
		case *ast.SelectorExpr:
			if !operands[n] {
				given[goKey(n)] = true
			}
			_, named := n.X.(*ast.Ident)
			return !named
		case *ast.Ident:
			if !operands[n] {
				given[n.Name] = true
			}
		}
		return true
	}
	ast.Inspect(body, look)
	return given
}

// goFails reports whether a statement of the block itself, and of no inner block, fails the test.
func goFails(block *ast.BlockStmt) bool {
	return slices.ContainsFunc(block.List, func(s ast.Stmt) bool {
		x, ok := s.(*ast.ExprStmt)
		if !ok {
			return false
		}
		call, ok := x.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			return f.Name == "panic"
		case *ast.SelectorExpr:
			return slices.Contains([]string{"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"}, f.Sel.Name)
		}
		return false
	})
}

// goRanged lists the names that a test's loops give to values.
func goRanged(f *ast.FuncDecl) (names []string) {
	ast.Inspect(f.Body, func(n ast.Node) bool {
		if r, ok := n.(*ast.RangeStmt); ok {
			if v, ok := r.Value.(*ast.Ident); ok {
				names = append(names, v.Name)
			}
		}
		return true
	})
	return names
}

// goRow adds the values of a table's rows, and those rows whose fields have no names.
func goRow(list *ast.CompositeLit, structs map[string]*ast.StructType, values []string, add func(string, ast.Expr) bool, row func(*ast.CompositeLit, bool)) {
	var of ast.Expr
	switch t := list.Type.(type) {
	case *ast.ArrayType:
		of = t.Elt
	case *ast.MapType:
		of = t.Value
	}
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	if name, ok := of.(*ast.Ident); ok && structs[name.Name] != nil {
		of = structs[name.Name]
	}
	shape, isStruct := of.(*ast.StructType)
	var fields []string
	if isStruct {
		for _, field := range shape.Fields.List {
			for _, name := range field.Names {
				fields = append(fields, "."+name.Name)
			}
		}
	}
	for _, x := range list.Elts {
		kv, isMap := x.(*ast.KeyValueExpr)
		if isMap {
			x = kv.Value
		}
		if u, ok := x.(*ast.UnaryExpr); ok {
			x = u.X
		}
		one, ok := x.(*ast.CompositeLit)
		if !ok || !isStruct {
			for _, name := range values {
				if isMap {
					add(name, x)
				}
			}
			continue
		}
		known, named := false, false
		for i, v := range one.Elts {
			if kv, ok := v.(*ast.KeyValueExpr); ok {
				named = true
				if key, ok := kv.Key.(*ast.Ident); ok {
					add("."+key.Name, kv.Value)
				}
			} else if i < len(fields) {
				known = add(fields[i], v) || known
			}
		}
		if !named {
			row(one, known)
		}
	}
}

// goOperands lists the names and fields that a condition compares. An argument of a call is not one,
// except in arithmetic, and except for the last argument of a call that is the condition itself.
func goOperands(x ast.Expr, asked bool) (list []ast.Expr) {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return goOperands(x.X, asked)
	case *ast.UnaryExpr:
		return goOperands(x.X, asked)
	case *ast.BinaryExpr:
		asked = asked && (x.Op == token.LAND || x.Op == token.LOR)
		for _, side := range []ast.Expr{x.X, x.Y} {
			if _, name := side.(*ast.Ident); !name || !asked { // one that is asked for alone is a truth
				list = append(list, goOperands(side, asked)...)
			}
		}
	case *ast.CallExpr:
		for i, arg := range x.Args {
			if _, reckons := arg.(*ast.BinaryExpr); reckons || asked && i > 0 && i == len(x.Args)-1 {
				list = append(list, goOperands(arg, false)...)
			}
		}
	case *ast.Ident:
		return []ast.Expr{x}
	case *ast.SelectorExpr:
		if _, name := x.X.(*ast.Ident); name {
			return []ast.Expr{x}
		}
	}
	return list
}

// goRowComparisons finds the comparisons with a row's value. The condition recognizes the row by a
// value that no row has.
func goRowComparisons(text string) (list []Comparison) {
	columns, _ := goColumns(text)
	taken := map[string]bool{}
	for _, c := range columns {
		taken[text[c.from:c.to]] = true
	}
	for _, c := range columns {
		value := text[c.from:c.to]
		i := slices.IndexFunc(unlikes(value), func(v string) bool { return !taken[v] })
		if i < 0 {
			continue
		}
		mark, cond := unlikes(value)[i], text[c.cond.from:c.cond.to]
		list = append(list, Comparison{Test: c.test, unlike: edit{from: c.from, to: c.to}, whether: func(equal bool) []edit {
			if equal {
				return []edit{{c.cond.from, c.cond.to, "(" + cond + ") && false"}}
			}
			edits := []edit{{c.from, c.to, mark}, {c.cond.from, c.cond.to, fmt.Sprintf("(%s) || %s == %s", cond, c.asked, mark)}}
			slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
			return edits
		}})
	}
	return list
}
