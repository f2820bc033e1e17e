/* A program in C that a Rust library with packs is linked into. */
void check_packs(void);

int main(void) {
  check_packs();
  return 0;
}
