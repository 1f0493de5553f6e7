"""Says which argument of `mox.run` or `mox.ModelSpec` replaces an argument of other runtimes.

People who come from Estimator, Keras, Lightning or Accelerate write the names that they know.
"""

from __future__ import annotations

from typing import Final

_STEPS: Final = (
    "Use max_number_of_steps=, the global step at which training ends (in EVAL and PREDICT the"
    " number of batches)."
)
_EPOCHS: Final = (
    "Use max_number_of_steps=: steps are counted, not epochs. It is epochs * samples // batch_size"
    " on one device."
)
_FOLDER: Final = "Use log_dir=, the folder of checkpoints, summaries and exports."
_HOOKS: Final = "Hooks belong to the model: model_fn returns mox.ModelSpec(loss=loss, hooks=[...])."
_CALLBACKS: Final = (
    "mox.run has hooks instead of callbacks: model_fn returns mox.ModelSpec(loss=loss,"
    " hooks=[...]), such as mox.EarlyStoppingHook. For callbacks of Keras train the Keras model"
    " with moxing.keras.fit."
)
_MODEL: Final = (
    "Use model_fn=, a function of the inputs and the mode that returns a mox.ModelSpec. A compiled"
    " Keras model is trained with moxing.keras.fit(model, data)."
)
_DATA: Final = "Use input_fn=, a function of the mode that returns tensors or a tf.data Dataset."
_OPTIMIZER: Final = (
    "Use optimizer_fn=, a function that returns a tf.train.Optimizer, such as"
    " mox.get_optimizer_fn('adam', learning_rate=0.001)."
)
_RATE: Final = (
    "The optimizer has the learning rate: optimizer_fn=mox.get_optimizer_fn('adam',"
    " learning_rate=0.001)."
)
_LOSS: Final = "model_fn returns the loss: mox.ModelSpec(loss=loss)."
_METRICS: Final = (
    "model_fn returns the values to log and to evaluate: mox.ModelSpec(loss=loss,"
    ' log_info={"accuracy": accuracy}).'
)
_CHECKPOINT: Final = (
    "A run goes on from the newest checkpoint in log_dir by itself; checkpoint_path= names a"
    " checkpoint to start from when log_dir has none."
)
_EVALUATION: Final = (
    "input_fn gets the mode: it returns the data of evaluations for mox.ModeKeys.EVAL. Evaluations"
    " are made by run_mode=mox.ModeKeys.EVAL, or during training by inter_mode=mox.ModeKeys.EVAL"
    " and a hook such as mox.LogEvaluationMetricHook."
)
_DEVICES: Final = "Give the flag --num_gpus=N on the command line."
_WORKERS: Final = "Start the program with `mox launch --workers=N`, or --hosts=A,B."
_PRECISION: Final = "Give the flag --use_bf16 or --use_fp16 on the command line."
_ACCUMULATION: Final = "Give the flag --accumulate_steps=N on the command line."
_CLIPPING: Final = "Give the flag --gradient_clip_norm=X or --gradient_clip_value=X."
_PROCESSES: Final = "Leave it out: flags and the environment say which processes train together."
_SAVING: Final = "Use save_model_secs= or save_model_steps=, the time between two checkpoints."
_LOGGING: Final = "Use log_every_n_steps=, the number of steps between two log lines."
_TRACKERS: Final = (
    "TensorBoard's files are written to log_dir by themselves; W&B and MLflow are asked for with"
    " `mox run --loggers=wandb,mlflow` or MOX_LOGGERS in the environment."
)
_SHUFFLE: Final = "Shuffle in input_fn, as with tf.data.Dataset.shuffle."
_MODE: Final = "Use run_mode=, which is mox.ModeKeys.TRAIN, EVAL or PREDICT."
_SEED: Final = "Give the flag --seed=N on the command line."
_OUTPUTS: Final = (
    "model_fn returns the values: mox.ModelSpec(output_info={...}). output_fn= with"
    " output_every_n_steps= gets them."
)
_PARAMETERS: Final = (
    "Leave it out: give model_fn its parameters by functools.partial or a closure. The program's"
    " own flags are there too."
)
_EXPORT: Final = (
    "Use export_model=mox.ExportKeys.TF_SERVING, and mox.ModelSpec(export_spec=...) for the inputs"
    " and outputs."
)

_ADVICE: Final = {
    _STEPS: (
        *("steps", "max_steps", "num_steps", "train_steps", "total_steps", "number_of_steps"),
        *("n_steps", "steps_per_epoch", "eval_steps", "validation_steps", "num_batches"),
        *("iterations", "max_iter", "num_iterations", "limit_train_batches"),
    ),
    _EPOCHS: ("epochs", "max_epochs", "num_epochs", "n_epochs", "nb_epoch", "num_train_epochs"),
    _FOLDER: (
        *("model_dir", "logdir", "output_dir", "save_dir", "checkpoint_dir", "ckpt_dir"),
        *("train_dir", "job_dir", "default_root_dir", "project_dir", "workdir", "logging_dir"),
    ),
    _HOOKS: (
        *("hooks", "hook", "training_hooks", "train_hooks", "eval_hooks", "evaluation_hooks"),
        *("saving_listeners", "chief_only_hooks", "prediction_hooks"),
    ),
    _CALLBACKS: ("callbacks", "callback"),
    _MODEL: ("model", "network", "net", "estimator", "module", "keras_model", "module_fn"),
    _DATA: (
        *("x", "y", "data", "dataset", "train_data", "train_dataset", "train_ds", "train_loader"),
        *("train_dataloader", "train_dataloaders", "dataloader", "datamodule", "train_input_fn"),
        *("features", "labels", "inputs", "generator", "feed_dict"),
    ),
    _OPTIMIZER: ("optimizer", "optimizers", "opt", "train_op", "train_op_fn"),
    _RATE: ("learning_rate", "lr", "lr_scheduler", "scheduler", "momentum", "weight_decay"),
    _LOSS: ("loss", "loss_fn", "criterion", "losses"),
    _METRICS: ("metrics", "metric_fn", "eval_metric_ops", "log_info", "compute_metrics"),
    _CHECKPOINT: (
        *("resume", "resume_from", "resume_from_checkpoint", "ckpt_path", "checkpoint", "restore"),
        *("warm_start_from", "initial_epoch", "init_checkpoint", "pretrained", "load_from"),
    ),
    _EVALUATION: (
        *("eval_input_fn", "eval_data", "validation_data", "validation_split", "val_data"),
        *("val_loader", "val_dataloaders", "eval_dataset", "eval_spec", "train_spec"),
        *("eval_every_n_steps", "validation_freq", "eval_every", "val_check_interval"),
    ),
    _DEVICES: ("num_gpus", "gpus", "devices", "num_devices", "accelerator", "device"),
    _WORKERS: ("num_nodes", "nodes", "num_workers", "num_processes", "workers"),
    _PRECISION: ("precision", "mixed_precision", "fp16", "bf16", "use_fp16", "use_bf16", "amp"),
    _ACCUMULATION: (
        *("accumulate_grad_batches", "gradient_accumulation_steps", "accumulate_steps"),
    ),
    _CLIPPING: (
        "gradient_clip_val",
        "gradient_clip_norm",
        "clip_norm",
        "max_grad_norm",
        "clipnorm",
    ),
    _PROCESSES: ("strategy", "distribute", "cluster", "master", "session_config", "config"),
    _SAVING: (
        *("save_checkpoints_steps", "save_checkpoints_secs", "save_every", "save_steps"),
        *("save_checkpoint_secs", "save_checkpoint_steps", "save_interval_secs", "save_freq"),
    ),
    _LOGGING: (
        *("log_every", "log_step_count_steps", "logging_steps", "log_every_steps", "verbose"),
        *("log_steps", "log_frequency", "print_every"),
    ),
    _TRACKERS: ("logger", "loggers", "log_with", "report_to", "tensorboard"),
    _SHUFFLE: ("shuffle",),
    _MODE: ("mode",),
    _SEED: ("seed", "random_seed", "tf_random_seed"),
    _OUTPUTS: ("predictions", "output_info", "predict_keys", "outputs"),
    _PARAMETERS: ("params", "hparams", "args", "flags", "hyperparameters"),
    _EXPORT: (
        *("export", "exporters", "export_dir", "export_spec", "serving_input_receiver_fn"),
        "serving_input_fn",
    ),
}
_BY_NAME: Final = {name: advice for advice, names in _ADVICE.items() for name in names}
_OWN_HOOKS: Final = (
    "Use hooks=. Hooks of evaluations are hooks of the ModelSpec that model_fn returns for"
    " mox.ModeKeys.EVAL."
)
# What Estimator's EstimatorSpec has.
_IN_SPEC: Final = {
    "mode": "Leave it out: mox.run knows the mode.",
    "predictions": "Use output_info=, tensors by name.",
    "train_op": "Leave it out: mox.run minimizes loss= with the optimizer of its optimizer_fn=.",
    "optimizer": "Leave it out: mox.run has optimizer_fn=.",
    **dict.fromkeys(
        ("eval_metric_ops", "metrics", "eval_metrics", "metric_fn"),
        "Use log_info=, scalars by name: an evaluation takes their means over all samples.",
    ),
    "export_outputs": "Use export_spec=mox.ExportSpec(inputs_dict={...}, outputs_dict={...}).",
    "scaffold": "Leave it out: mox.run saves and restores all variables.",
    **dict.fromkeys(
        ("training_hooks", "training_chief_hooks", "evaluation_hooks", "prediction_hooks"),
        _OWN_HOOKS,
    ),
    "host_call": "Leave it out: use tf.summary in model_fn.",
}


def in_spec(name: str) -> str:
    """Returns " " and a sentence with the argument of mox.ModelSpec to use; "": not known.

    Args:
        name: the name of a keyword argument that `mox.ModelSpec` does not have.
    """
    advice = _IN_SPEC.get(name)
    return f" {advice}" if advice else ""


def of(name: str) -> str:
    """Returns " " and a sentence with the argument or flag to use; "": the name is not known.

    Args:
        name: the name of a keyword argument that `mox.run` does not have.
    """
    advice = _BY_NAME.get(name)
    return f" {advice}" if advice else ""
