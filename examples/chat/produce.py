"""Writes tasks as the backend of the chat system does: one JSON object a line of the standard input."""
import asyncio
import json
import sys
import uuid
from datetime import datetime

from aiokafka import AIOKafkaProducer


async def main(brokers, topic):
    producer = AIOKafkaProducer(bootstrap_servers=brokers, acks="all", value_serializer=lambda v: json.dumps(v).encode())
    await producer.start()
    try:
        for line in sys.stdin:
            task = json.loads(line)
            await producer.send_and_wait(topic, {
                "job_id": task.get("job_id") or str(uuid.uuid4()),
                "task_type": task["task_type"],
                "payload": task["payload"],
                "metadata": {
                    "created_at": datetime.utcnow().isoformat(),
                    "retry_count": 0,
                    "max_retry": 5,
                    "last_error": None,
                    "last_retry_at": None,
                    "idempotency_key": task.get("idempotency_key"),
                },
            })
    finally:
        await producer.stop()


asyncio.run(main(sys.argv[1], sys.argv[2]))
