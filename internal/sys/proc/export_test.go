package proc

// ProcargsHasEnv lets the tests reach what only macOS uses.
var ProcargsHasEnv = procargsHasEnv
