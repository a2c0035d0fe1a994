/* onnx/lower_ml_int.h — the parts of the family hn_lower_ml. */
#ifndef HN_LOWER_ML_INT_H
#define HN_LOWER_ML_INT_H

#include "onnx/lower_image_int.h"

/* lower_ml.c */
hn_val hn_ml_floats(hn_lower *c, size_t n, const float *x, hone_dtype t); /* a vector of type t */
/* NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO, PROBIT over the last of two dimensions; 0 after a failure. */
hn_val hn_ml_post(hn_lower *c, hn_val scores, const char *name);
/* Output 0: the label of the largest score of each row; refuses labels that are strings where output 0 is wanted. */
void hn_ml_labels(hn_lower *c, hn_val scores, const char *ints, const char *strings);

/* lower_ml_linear.c */
/* Attribute `name` as a matrix of `rows` rows of type t; 0 after a failure. */
hn_val hn_ml_matrix(hn_lower *c, const char *name, int64_t rows, hone_dtype t);
void hn_lower_linear_regressor(hn_lower *c);
void hn_lower_linear_classifier(hn_lower *c);
/* lower_ml_svm.c */
void hn_lower_svm_regressor(hn_lower *c);
void hn_lower_svm_classifier(hn_lower *c);
/* lower_ml_tree.c */
void hn_lower_tree_ensemble(hn_lower *c);
void hn_lower_tree_regressor(hn_lower *c);
void hn_lower_tree_classifier(hn_lower *c);
/* lower_ml_text.c */
void hn_lower_tfidf(hn_lower *c);

#endif
