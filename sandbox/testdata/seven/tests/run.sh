test "$(cat a)" = 1 && test "$(cat b)" = 2 && test "$(cat c)" = 3
