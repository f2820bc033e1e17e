/* A program in C. A Rust library with packs is linked into it. */
void check_packs(void);

int main(void) {
  check_packs();
  return 0;
}
