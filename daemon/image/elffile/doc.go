// Package elffile reads the headers and sections of one ELF file for this machine. It gives bytes, and knows nothing of what they mean beyond
// the headers: symbols, code, frames and types are for package image and the packages beside this one.
//
// All addresses are virtual addresses of the file. Nothing in a file is trusted: damaged or hostile headers give errors, and the memory that
// contents take is bounded by one allowance for all files of this process. What does not fit is left out, and OnLeftOut tells of it.
//
// It imports nothing of the house but daemon/image/lazy and internal/safeelf. All methods of a File may be called from any goroutine. Nothing
// is called while one of its locks is held but the function that is given to OnLeftOut, which must not call the File.
package elffile
