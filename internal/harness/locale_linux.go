package harness

// utf8Locale is one that every machine has.
const utf8Locale = "C.UTF-8"
