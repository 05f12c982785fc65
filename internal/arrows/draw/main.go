// Command draw puts the picture of packages and their imports into ARCHITECTURE.md. It is run in the top directory.
package main

import (
	"fmt"
	"os"

	"culprit/internal/arrows"
)

func main() {
	if err := redraw("ARCHITECTURE.md"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func redraw(name string) error {
	picture, err := arrows.Picture(".")
	if err != nil {
		return err
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	drawn, err := arrows.Redraw(string(text), picture)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return os.WriteFile(name, []byte(drawn), 0o644)
}
