package harness

// utf8Locale is one that every machine has.
const utf8Locale = "en_US.UTF-8"
