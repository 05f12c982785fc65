package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"culprit/pcl"
	"culprit/pcl/check"
)

// userDir is where the user's own PCL lives: culprit below the configuration directory (XDG_CONFIG_HOME).
func userDir() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "culprit")
}

// loadLibrary loads the default library, the user's directory, the files and the texts, in this order. What is wrong in a
// file or text that was named is an error of usage; what is wrong in the directory is only told. alone leaves out the
// default library and the directory.
func loadLibrary(files, texts []string, alone bool) (*pcl.Library, error) {
	opts := check.Options{Files: files, Texts: texts, NoDefault: alone}
	if !alone {
		opts.UserDir = userDir()
	}
	lib, problems, err := check.Load(opts)
	if err != nil {
		return nil, &statusError{exitUsage, err}
	}
	var bad []string
	for _, p := range problems {
		if p.Pos.File == nil || opts.UserDir != "" && strings.HasPrefix(p.Pos.File.Name, opts.UserDir+"/") {
			fmt.Fprintf(os.Stderr, "culprit: warning: left out: %s\n", cleanLines(p.Detail()))
			continue
		}
		bad = append(bad, p.Detail())
	}
	if len(bad) > 0 {
		return nil, usagef("the PCL has errors:\n%s", strings.Join(bad, "\n"))
	}
	return lib, nil
}
