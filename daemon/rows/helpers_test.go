package rows

var helpers = map[string]func() int{}
