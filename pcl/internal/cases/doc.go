// Package cases has what tests of the packages of pcl share: texts with the plan or the message that must come of them, and a target
// that is made up. Only tests import it.
//
// It imports grid, pcl, pcl/check and pcl/syntax, and not pcl/compile, whose own tests use it.
package cases
