// Names that are keywords, types or crates in Rust.
enum Option { None, Some };
enum core { type = 3 };
enum alloc { fn };
enum bool_ { u32 };
struct Words {
  int type;
  Option match;
  core self;
  float f32[2];
  int in_, in;
};
extern "C" __global__ void words(Words it, Words *at, Option x, core y, alloc z, bool_ u) { *at = it; }
