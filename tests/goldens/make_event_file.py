"""Writes events.tfevents with the messages and the record writer of TensorBoard, for tests/formats/event_file_test.cc. Made with
tensorboard 2.21.0."""

import math
from pathlib import Path

from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2, tensor_shape_pb2, types_pb2
from tensorboard.summary.writer.record_writer import RecordWriter


def scalar(step, time, tag, value):
    return event_pb2.Event(step=step, wall_time=time, summary=summary_pb2.Summary(
        value=[summary_pb2.Summary.Value(tag=tag, simple_value=value)]))


def text(step, time, tag, value):
    metadata = summary_pb2.SummaryMetadata(plugin_data=summary_pb2.SummaryMetadata.PluginData(plugin_name="text"),
                                           data_class=summary_pb2.DATA_CLASS_TENSOR)
    tensor = tensor_pb2.TensorProto(
        dtype=types_pb2.DT_STRING, string_val=[value.encode()],
        tensor_shape=tensor_shape_pb2.TensorShapeProto(dim=[tensor_shape_pb2.TensorShapeProto.Dim(size=1)]))
    return event_pb2.Event(step=step, wall_time=time, summary=summary_pb2.Summary(
        value=[summary_pb2.Summary.Value(tag=tag, tensor=tensor, metadata=metadata)]))


EVENTS = [
    event_pb2.Event(wall_time=1700000000.25, file_version="brain.Event:2",
                    source_metadata=event_pb2.SourceMetadata(writer="sixfold")),
    scalar(100, 1700000010.5, "train/loss", 4.125),
    scalar(100, 1700000010.5, "valid/bleu", 0.0),
    scalar(200, 1700000020.5, "train/loss", math.nan),
    text(200, 1700000020.5, "samples/1", "output\n\n    Der alte Hund schläft.\n\n"),
    event_pb2.Event(step=150, wall_time=1700000021.0, session_log=event_pb2.SessionLog(status=event_pb2.SessionLog.START)),
    scalar(2**40, 1700000030.0, "train/learning_rate", 1e-5),
]

with open(Path(__file__).resolve().parent / "events.tfevents", "wb") as file:
    writer = RecordWriter(file)
    for event in EVENTS:
        writer.write(event.SerializeToString())
