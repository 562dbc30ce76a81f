package view

type reviewed struct{}
