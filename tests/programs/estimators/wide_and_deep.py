"""People in the manner of a census: wide columns, deep columns, and an export for serving."""

import argparse
import csv
import os

import numpy as np
import tensorflow as tf

COLUMNS = ["age", "work", "education", "hours", "income"]
DEFAULTS = [[0.0], [""], [""], [0.0], [""]]
WORK = ["private", "public", "own", "none"]
EDUCATION = ["school", "college", "bachelor", "master", "doctor"]


def write_people(path, count, seed):
    random = np.random.RandomState(seed)
    own = "%s.%d" % (path, os.getpid())
    with open(own, "w", newline="") as out:
        writer = csv.writer(out)
        for _ in range(count):
            age, hours = random.randint(17, 80), random.randint(0, 70)
            work, level = random.randint(4), random.randint(5)
            rich = level * 12 + hours + (25 if 35 < age < 60 else 0) + 8 * (work == 2) > 75
            row = [age, WORK[work], EDUCATION[level], hours, ">50K" if rich else "<=50K"]
            writer.writerow(row)
    os.rename(own, path)


def build_columns():
    age = tf.feature_column.numeric_column("age")
    ages = tf.feature_column.bucketized_column(age, [25, 35, 45, 60])
    work = tf.feature_column.categorical_column_with_vocabulary_list("work", WORK)
    education = tf.feature_column.categorical_column_with_hash_bucket("education", 50)
    wide = [
        *(ages, work, education),
        tf.feature_column.crossed_column([ages, "education"], hash_bucket_size=200),
    ]
    deep = [
        tf.feature_column.numeric_column("age", normalizer_fn=lambda value: value / 50),
        tf.feature_column.numeric_column("hours", normalizer_fn=lambda value: value / 40),
        tf.feature_column.indicator_column(work),
        tf.feature_column.embedding_column(education, dimension=4),
    ]
    return wide, deep


def input_fn(path, epochs, shuffle):
    def parse(line):
        features = dict(zip(COLUMNS, tf.decode_csv(line, DEFAULTS)))
        return features, tf.equal(features.pop("income"), ">50K")

    data = tf.data.TextLineDataset(path)
    if shuffle:
        data = data.shuffle(1000, seed=1)
    return data.map(parse, num_parallel_calls=2).repeat(epochs).batch(50)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", default=".")
    parser.add_argument("--steps", type=int, default=120)
    args = parser.parse_args()
    train, held = (os.path.join(args.folder, name) for name in ("train.csv", "eval.csv"))
    if not os.path.exists(held):
        write_people(train, 2000, 0)
        write_people(held, 500, 1)
    wide, deep = build_columns()
    model = tf.estimator.DNNLinearCombinedClassifier(
        model_dir=os.path.join(args.folder, "model"),
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[32, 16],
        config=tf.estimator.RunConfig(tf_random_seed=1, save_checkpoints_steps=60),
    )
    spec = tf.feature_column.make_parse_example_spec(wide + deep)
    serving = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    results, _ = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(lambda: input_fn(train, None, True), max_steps=args.steps),
        tf.estimator.EvalSpec(
            lambda: input_fn(held, 1, False),
            steps=None,
            throttle_secs=0,
            exporters=[
                tf.estimator.FinalExporter("census", serving),
                tf.estimator.BestExporter("best", serving, exports_to_keep=1),
            ],
        ),
    )
    if results is None:
        return
    for key in sorted(results):
        print("%s: %s" % (key, results[key]))
    assert results["global_step"] == args.steps
    assert results["accuracy"] > results["accuracy_baseline"] + 0.1, results
    exported = os.path.join(args.folder, "model", "export")
    assert len(os.listdir(os.path.join(exported, "best"))) == 1
    [time] = os.listdir(os.path.join(exported, "census"))
    serve = tf.contrib.predictor.from_saved_model(os.path.join(exported, "census", time))
    values = {"age": 45.0, "hours": 60.0, "work": b"own", "education": b"doctor"}
    feature = {
        name: tf.train.Feature(bytes_list=tf.train.BytesList(value=[value]))
        if isinstance(value, bytes)
        else tf.train.Feature(float_list=tf.train.FloatList(value=[value]))
        for name, value in values.items()
    }
    example = tf.train.Example(features=tf.train.Features(feature=feature))
    scores = serve({"inputs": [example.SerializeToString()]})["scores"]
    assert scores[0][1] > 0.6, scores


if __name__ == "__main__":
    main()
