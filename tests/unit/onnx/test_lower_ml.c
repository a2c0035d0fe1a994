/* The lowerings of ai.onnx.ml and of TfIdfVectorizer. Expected values: the reference evaluator of ONNX 1.22. */
#include "onnx_text.h"
#include "tap.h"

static const ot_case cases[] = {
    {"array_feature_extractor_of_a_vector",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [4]\n"
     "in i i64 [2]\n"
     "node ArrayFeatureExtractor x,i > y\n",
     "x f32 [4] = -1.5 -1 0 -1\n"
     "i i64 [2] = 3 0\n",
     "y f32 [1,2] = -1 -1.5\n"},
    {"binarizer",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,3]\n"
     "node Binarizer x > y threshold=0.5\n",
     "x f32 [2,3] = -1.5 -1.25 1.75 1 0 0.25\n", "y f32 [2,3] = 0 0 1 1 0 0\n"},
    {"label_encoder_integers_to_floats",
     "opset 22\n"
     "opset ai.onnx.ml 2\n"
     "in x i64 [4]\n"
     "node LabelEncoder x > y keys_int64s=[1,2,4] values_floats=[1.5,2.5,4.5] default_float=0.25\n",
     "x i64 [4] = 1 4 2 7\n", "y f32 [4] = 1.5 4.5 2.5 0.25\n"},
    {"scaler",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,3]\n"
     "node Scaler x > y offset=[0.5,1.0,-1.0] scale=[2.0]\n",
     "x f32 [2,3] = -0.75 0.25 -1.5 -1.75 0.5 0.25\n", "y f32 [2,3] = -2.5 -1.5 -1 -4.5 -1 2.5\n"},
    {"normalizer_max",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,3]\n"
     "node Normalizer x > y norm='MAX'\n",
     "x f32 [2,3] = -0.5 -0.25 -1.5 1.5 -2 0\n", "y f32 [2,3] = -0.3333333 -0.1666667 -1 0.75 -1 0\n"},
    {"normalizer_l1",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,3]\n"
     "node Normalizer x > y norm='L1'\n",
     "x f32 [2,3] = -0.5 1.25 0.25 -1.25 0 0.5\n", "y f32 [2,3] = -0.25 0.625 0.125 -0.7142857 0 0.2857143\n"},
    {"normalizer_l2",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,3]\n"
     "node Normalizer x > y norm='L2'\n",
     "x f32 [2,3] = 1.75 0 1.75 -0.75 1.75 2\n", "y f32 [2,3] = 0.7071068 0 0.7071068 -0.2716072 0.6337503 0.724286\n"},
    {"imputer",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x i64 [2,2]\n"
     "node Imputer x > y imputed_value_int64s=[7,9] replaced_value_int64=-1\n",
     "x i64 [2,2] = 1 -1 -1 2\n", "y i64 [2,2] = 1 9 7 2\n"},
    {"feature_vectorizer",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in a f32 [2,2]\n"
     "in b f32 [2,1]\n"
     "node FeatureVectorizer a,b > y inputdimensions=[2,1]\n",
     "a f32 [2,2] = 1.25 1.5 0 1.75\n"
     "b f32 [2,1] = 0 0.5\n",
     "y f32 [2,3] = 1.25 1.5 0 0 1.75 0.5\n"},
    {"one_hot_encoder",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x i64 [3]\n"
     "node OneHotEncoder x > y cats_int64s=[0,1,2] zeros=1\n",
     "x i64 [3] = 2 5 0\n", "y f32 [3,3] = 0 0 1 0 0 0 1 0 0\n"},
    {"linear_regressor",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,2]\n"
     "node LinearRegressor x > y coefficients=[0.5,-1.0,2.0,0.25] intercepts=[1.0,-1.0] targets=2 "
     "post_transform='NONE'\n",
     "x f32 [2,2] = -0.5 0.25 -0.5 0.25\n", "y f32 [2,2] = 0.5 -1.9375 0.5 -1.9375\n"},
    {"linear_classifier_none",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,2]\n"
     "node LinearClassifier x > y,z coefficients=[0.5,-1.0,2.0,0.25,-0.5,1.0] "
     "intercepts=[1.0,-1.0,0.5] classlabels_ints=[4,5,6] post_transform='NONE'\n",
     "x f32 [2,2] = -2 -1.75 1.25 1.5\n",
     "y i64 [2] = 4 5\n"
     "z f32 [2,3] = 1.75 -5.4375 -0.25 0.125 1.875 1.375\n"},
    {"linear_classifier_logistic",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,2]\n"
     "node LinearClassifier x > y,z coefficients=[0.5,-1.0,2.0,0.25,-0.5,1.0] "
     "intercepts=[1.0,-1.0,0.5] classlabels_ints=[4,5,6] post_transform='LOGISTIC'\n",
     "x f32 [2,2] = -1 -2 -2 1.25\n",
     "y i64 [2] = 4 6\n"
     "z f32 [2,3] = 0.9241418 0.02931223 0.2689414 0.2227001 0.009125637 0.9399133\n"},
    {"linear_classifier_softmax",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,2]\n"
     "node LinearClassifier x > y,z coefficients=[0.5,-1.0,2.0,0.25,-0.5,1.0] "
     "intercepts=[1.0,-1.0,0.5] classlabels_ints=[4,5,6] post_transform='SOFTMAX'\n",
     "x f32 [2,2] = -0.25 -1 1 0\n",
     "y i64 [2] = 4 4\n"
     "z f32 [2,3] = 0.8833545 0.0235406 0.09310488 0.5465494 0.331499 0.1219516\n"},
    {"linear_classifier_softmax_zero",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,2]\n"
     "node LinearClassifier x > y,z coefficients=[0.5,-1.0,2.0,0.25,-0.5,1.0] "
     "intercepts=[1.0,-1.0,0.5] classlabels_ints=[4,5,6] post_transform='SOFTMAX_ZERO'\n",
     "x f32 [2,2] = -0.25 -1.75 -0.5 1.25\n",
     "y i64 [2] = 4 6\n"
     "z f32 [2,3] = 0.9671613 0.01009323 0.02274545 0.07414286 0.02261229 0.9032448\n"},
    {"linear_classifier_of_two",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [3,2]\n"
     "node LinearClassifier x > y,z coefficients=[0.5,-1.0] intercepts=[0.25] classlabels_ints=[4,5] "
     "post_transform='LOGISTIC'\n",
     "x f32 [3,2] = 0.75 0 -1.5 0.5 -2 2\n",
     "y i64 [3] = 5 4 4\n"
     "z f32 [3,2] = 0.3486452 0.6513549 0.7310586 0.2689414 0.9399133 0.06008665\n"},
    {"svm_linear",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,2]\n"
     "node SVMRegressor x > y coefficients=[0.5,-1.0] kernel_params=[0.5,0.25,3.0] "
     "kernel_type='LINEAR' n_supports=2 rho=[0.25] support_vectors=[1.0,0.5,-0.5,2.0]\n",
     "x f32 [2,2] = 0.5 1 0.25 -0.75\n", "y f32 [2,1] = -1 1.8125\n"},
    {"svm_poly",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,2]\n"
     "node SVMRegressor x > y coefficients=[0.5,-1.0] kernel_params=[0.5,0.25,3.0] kernel_type='POLY' "
     "n_supports=2 rho=[0.25] support_vectors=[1.0,0.5,-0.5,2.0]\n",
     "x f32 [2,2] = 1.5 -2 -0.25 1\n", "y f32 [2,1] = 9.908203 -1.984619\n"},
    {"svm_rbf",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,2]\n"
     "node SVMRegressor x > y coefficients=[0.5,-1.0] kernel_params=[0.5,0.25,3.0] kernel_type='RBF' "
     "n_supports=2 rho=[0.25] support_vectors=[1.0,0.5,-0.5,2.0]\n",
     "x f32 [2,2] = 1.25 -1 -2 2\n", "y f32 [2,1] = 0.4049295 -0.07284915\n"},
    {"svm_sigmoid",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,2]\n"
     "node SVMRegressor x > y coefficients=[0.5,-1.0] kernel_params=[0.5,0.25,3.0] "
     "kernel_type='SIGMOID' n_supports=2 rho=[0.25] support_vectors=[1.0,0.5,-0.5,2.0]\n",
     "x f32 [2,2] = -2 1.25 0.5 -2\n", "y f32 [2,1] = -0.9198126 1.204045\n"},
    {"tree_regressor_sum",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,2]\n"
     "node TreeEnsembleRegressor x > y nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,1,0,1,0] target_weights=[1.0,2.0,4.0,0.5,-8.0] "
     "n_targets=2 aggregate_function='SUM' base_values=[0.25,0.5]\n",
     "x f32 [4,2] = -1.25 -1.25 nan 0.5 -1.5 nan -0.5 -2\n", "y f32 [4,2] = 0.25 3 1.25 1 -7.75 2.5 0.25 3\n"},
    {"tree_regressor_average",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,2]\n"
     "node TreeEnsembleRegressor x > y nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,1,0,1,0] target_weights=[1.0,2.0,4.0,0.5,-8.0] "
     "n_targets=2 aggregate_function='AVERAGE' base_values=[0.25,0.5]\n",
     "x f32 [4,2] = -1.25 -1.25 nan 0.5 -1.5 nan -0.5 -2\n", "y f32 [4,2] = 0.25 1.75 0.75 0.75 -3.75 1.5 0.25 1.75\n"},
    {"tree_regressor_min",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [4,2]\n"
     "node TreeEnsembleRegressor x > y nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,0,0,0,0] target_weights=[1.0,2.0,4.0,0.5,-8.0] "
     "n_targets=1 aggregate_function='MIN'\n",
     "x f32 [4,2] = -1.25 -1.25 nan 0.5 -1.5 nan -0.5 -2\n", "y f32 [4,1] = 0.5 0.5 -8 0.5\n"},
    {"tree_regressor_max",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [4,2]\n"
     "node TreeEnsembleRegressor x > y nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,0,0,0,0] target_weights=[1.0,2.0,4.0,0.5,-8.0] "
     "n_targets=1 aggregate_function='MAX'\n",
     "x f32 [4,2] = -1.25 -1.25 nan 0.5 -1.5 nan -0.5 -2\n", "y f32 [4,1] = 2 1 2 2\n"},
    {"tree_classifier",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [4,2]\n"
     "node TreeEnsembleClassifier x > y,z nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] class_treeids=[0,0,0,1,1] "
     "class_nodeids=[2,3,4,1,2] class_ids=[0,1,2,1,0] class_weights=[1.0,2.0,4.0,0.5,-8.0] "
     "classlabels_int64s=[7,8,9] post_transform='SOFTMAX'\n",
     "x f32 [4,2] = -1.25 -1.25 0 0.5 -1.5 0 -0.5 -2\n",
     "y i64 [4] = 8 7 7 8\n"
     "z f32 [4,3] = 0.07050946 0.8589811 0.07050946 0.5064804 0.3071959 0.1863237 0.5064804 0.3071959 "
     "0.1863237 0.07050946 0.8589811 0.07050946\n"},
    {"tree_classifier_of_two",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [4,2]\n"
     "node TreeEnsembleClassifier x > y,z nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] class_treeids=[0,0,0,1,1] "
     "class_nodeids=[2,3,4,1,2] class_ids=[0,0,0,0,0] class_weights=[1.0,2.0,4.0,0.5,-8.0] "
     "classlabels_int64s=[0,1] post_transform='LOGISTIC'\n",
     "x f32 [4,2] = -1.25 -1.25 0 0.5 -1.5 0 -0.5 -2\n",
     "y i64 [4] = 1 1 1 1\n"
     "z f32 [4,2] = 0.07585818 0.9241418 0.1824255 0.8175745 0.1824255 0.8175745 0.07585818 "
     "0.9241418\n"},
    {"svm_classifier_of_three",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,2]\n"
     "node SVMClassifier x > y,z coefficients=[0.5,-1.0,0.25,2.0,1.0,-0.5,0.75,-2.0] "
     "kernel_params=[0.5,0.25,2.0] kernel_type='RBF' rho=[0.25,-0.5,0.125] "
     "support_vectors=[1.0,0.5,-0.5,2.0,0.25,-1.0,1.5,0.0] vectors_per_class=[1,2,1] "
     "classlabels_ints=[5,6,7] post_transform='NONE'\n",
     "x f32 [3,2] = -0.75 0.5 0.25 0.25 1.75 -1.25\n",
     "y i64 [3] = 7 5 5\n"
     "z f32 [3,3] = 0.09269652 -0.1433128 -0.02507029 0.5670206 1.11911 -0.5007424 0.4098841 "
     "0.5507401 -0.5266989\n"},
    {"svm_classifier_of_two_positive",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [3,2]\n"
     "node SVMClassifier x > y,z coefficients=[0.5,1.0,0.25] kernel_params=[0.5,0.25,2.0] "
     "kernel_type='POLY' rho=[-0.25] support_vectors=[1.0,0.5,-0.5,2.0,0.25,-1.0] "
     "vectors_per_class=[1,2] classlabels_ints=[5,6] post_transform='LOGISTIC'\n",
     "x f32 [3,2] = -0.5 0.75 -1.25 -0.75 0.25 1\n",
     "y i64 [3] = 6 6 6\n"
     "z f32 [3,2] = 0.2607658 0.7392342 0.5004272 0.4995728 0.2030352 0.7969648\n"},
    {"svm_classifier_linear",
     "opset 22\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [3,2]\n"
     "node SVMClassifier x > y,z coefficients=[0.5,-1.0,0.25,2.0,1.0,-0.5] kernel_type='LINEAR' "
     "rho=[0.25,0.5,0.75] classlabels_ints=[5,6,7] post_transform='SOFTMAX'\n",
     "x f32 [3,2] = -2 -0.5 -0.5 -0.75 -0.75 1.5\n",
     "y i64 [3] = 5 5 6\n"
     "z f32 [3,3] = 0.6044545 0.2223664 0.1731791 0.6043412 0.07217827 0.3234805 0.009006058 "
     "0.9778903 0.01310374\n"},
    {"tfidf_tf",
     "opset 22\n"
     "in x i32 [N,L]\n"
     "node TfIdfVectorizer x > y mode='TF' min_gram_length=1 max_gram_length=2 max_skip_count=2 "
     "ngram_counts=[0,4] ngram_indexes=[3,1,2,0,4,5,6] pool_int64s=[2,3,5,4,5,6,7,8,6,7] "
     "weights=[0.5,1.5,2.5,3.5,4.5,5.5,6.5]\n",
     "x i32 [2,8] = 4 6 2 7 5 4 6 7 7 8 8 7 4 7 6 4\n", "y f32 [2,7] = 2 0 1 1 1 0 2 2 0 0 0 0 2 0\n"},
    {"tfidf_idf",
     "opset 22\n"
     "in x i32 [N,L]\n"
     "node TfIdfVectorizer x > y mode='IDF' min_gram_length=1 max_gram_length=2 max_skip_count=2 "
     "ngram_counts=[0,4] ngram_indexes=[3,1,2,0,4,5,6] pool_int64s=[2,3,5,4,5,6,7,8,6,7] "
     "weights=[0.5,1.5,2.5,3.5,4.5,5.5,6.5]\n",
     "x i32 [2,8] = 4 6 2 7 5 4 6 7 7 8 8 7 4 7 6 4\n", "y f32 [2,7] = 0.5 0 2.5 3.5 4.5 0 6.5 0.5 0 0 0 0 5.5 0\n"},
    {"tfidf_tfidf",
     "opset 22\n"
     "in x i32 [N,L]\n"
     "node TfIdfVectorizer x > y mode='TFIDF' min_gram_length=1 max_gram_length=2 max_skip_count=2 "
     "ngram_counts=[0,4] ngram_indexes=[3,1,2,0,4,5,6] pool_int64s=[2,3,5,4,5,6,7,8,6,7] "
     "weights=[0.5,1.5,2.5,3.5,4.5,5.5,6.5]\n",
     "x i32 [2,8] = 4 6 2 7 5 4 6 7 7 8 8 7 4 7 6 4\n", "y f32 [2,7] = 1 0 2.5 3.5 4.5 0 13 1 0 0 0 0 11 0\n"},
    {"tfidf_vector_shorter_than_a_gram",
     "opset 22\n"
     "in x i64 [1]\n"
     "node TfIdfVectorizer x > y mode='TF' min_gram_length=2 max_gram_length=2 max_skip_count=0 "
     "ngram_counts=[0,0] ngram_indexes=[0] pool_int64s=[5,6]\n",
     "x i64 [1] = 5\n", "y f32 [1] = 0\n"},
};

static const struct {
    const char *name, *model, *says;
} refused[] = {
    {"probabilities_of_support_vectors",
     "opset 17\n"
     "opset ai.onnx.ml 1\n"
     "in x f32 [N,1]\n"
     "node SVMClassifier x > y,z classlabels_ints=[0,1] kernel_type='LINEAR' support_vectors=[1.0,-1.0] "
     "vectors_per_class=[1,1] coefficients=[1.0,-1.0] rho=[0.0] prob_a=[-1.0] prob_b=[0.0]\n",
     "SVC(probability=False)"},
    {"tree_with_a_cycle",
     "opset 17\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,2]\n"
     "node TreeEnsembleRegressor x > y n_targets=2 nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[0,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,1,0,1,0] target_weights=[1.0,2.0,4.0,0.5,-8.0]\n",
     "no trees"},
    {"tree_without_a_node",
     "opset 17\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,2]\n"
     "node TreeEnsembleRegressor x > y n_targets=2 nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[77,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,1,0,1,0] target_weights=[1.0,2.0,4.0,0.5,-8.0]\n",
     "no node 77"},
    {"tree_beyond_its_targets",
     "opset 17\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,2]\n"
     "node TreeEnsembleRegressor x > y n_targets=2 nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,1,0,5,0] target_weights=[1.0,2.0,4.0,0.5,-8.0]\n",
     "target 5 of 2"},
    {"tree_with_unequal_lists",
     "opset 17\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,2]\n"
     "node TreeEnsembleRegressor x > y n_targets=2 nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] nodes_values=[0.5] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,1,0,1,0] target_weights=[1.0,2.0,4.0,0.5,-8.0]\n",
     "differ in length"},
    {"tree_with_another_mode",
     "opset 17\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,2]\n"
     "node TreeEnsembleRegressor x > y n_targets=2 nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_XX','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,1,0,1,0] target_weights=[1.0,2.0,4.0,0.5,-8.0]\n",
     "node mode 'BRANCH_XX'"},
    {"tree_beyond_the_features",
     "opset 17\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [N,1]\n"
     "node TreeEnsembleRegressor x > y n_targets=2 nodes_treeids=[0,0,0,0,0,1,1,1] "
     "nodes_nodeids=[0,1,2,3,4,0,1,2] nodes_featureids=[0,1,0,0,0,1,0,0] "
     "nodes_values=[0.5,-0.25,0.0,0.0,0.0,1.0,0.0,0.0] "
     "nodes_modes=['BRANCH_LEQ','BRANCH_GT','LEAF','LEAF','LEAF','BRANCH_LT','LEAF','LEAF'] "
     "nodes_truenodeids=[1,2,0,0,0,1,0,0] nodes_falsenodeids=[4,3,0,0,0,2,0,0] "
     "nodes_missing_value_tracks_true=[1,0,0,0,0,0,0,0] target_treeids=[0,0,0,1,1] "
     "target_nodeids=[2,3,4,1,2] target_ids=[0,1,0,1,0] target_weights=[1.0,2.0,4.0,0.5,-8.0]\n",
     "feature 1 of 1"},
    {"labels_of_strings",
     "opset 17\n"
     "opset ai.onnx.ml 2\n"
     "in x i64 [3]\n"
     "node LabelEncoder x > y keys_int64s=[1] values_strings=['a']\n",
     "strings"},
    {"coefficients_do_not_fit",
     "opset 17\n"
     "opset ai.onnx.ml 3\n"
     "in x f32 [2,2]\n"
     "node LinearRegressor x > y coefficients=[1.0,2.0,3.0] targets=2\n",
     "3 entries for 2 rows"},
};

int main(void) {
    char why[2000];
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        ot_run(&cases[i], why, sizeof why);
        if (!ok(!why[0], "lower_ml/%s", cases[i].name)) printf("#   %s\n", why);
    }
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        ot_refusal(refused[i].model, why, sizeof why);
        if (!ok(strstr(why, refused[i].says), "lower_ml/%s", refused[i].name)) printf("#   %s\n", why);
    }
    return done_testing();
}
