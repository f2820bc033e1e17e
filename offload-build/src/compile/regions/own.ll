  %own.{value}. = alloca {ty}
  %before.{value} = load {ty}, ptr %same.{value}.
  store {ty} %before.{value}, ptr %own.{value}.
