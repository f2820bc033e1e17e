//! NVIDIA's fatbin container (`.nv_fatbin`).
