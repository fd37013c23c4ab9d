// Vectors are made by functions beside their types.
#include "vector_types.h"
